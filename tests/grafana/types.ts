// SPDX-License-Identifier: GPL-2.0
// What Grafana's own types say of a dashboard. Panels' options, series' settings and queries are `unknown` to Dashboard;
// each is held to the types of its kind besides. accepts.py puts the dashboards behind this file and has tsc judge all.
import type { AnnotationQuery, Dashboard, DataQuery, DataSourceRef, FieldConfig, Panel, RowPanel } from '@grafana/schema';
import type * as heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen.d.ts';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen.d.ts';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen.d.ts';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.d.ts';

// A string enum's members are their values in JSON.
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
	: T extends (infer Item)[] ? Plain<Item>[] : T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T;

// @grafana/schema 11 has no type for queries of Prometheus: these are the ones of Grafana's own data source.
interface PrometheusQuery extends DataQuery {
	expr: string;
	legendFormat?: string;
	instant?: boolean;
	range?: boolean;
	format?: 'time_series' | 'table' | 'heatmap';
	editorMode?: 'code' | 'builder';
	datasource?: DataSourceRef;
}

interface Custom<Settings> { defaults: Omit<FieldConfig, 'custom'> & { custom?: Settings }; overrides: unknown[] }
interface Of<Type extends string, Options, Settings> extends Omit<Panel, 'options' | 'fieldConfig' | 'targets'> {
	type: Type;
	options: Options;
	fieldConfig: Custom<Settings>;
	targets: PrometheusQuery[];
}

export type StatPanel = Plain<Of<'stat', stat.Options, Record<string, never>>>;
export type TablePanel = Plain<Of<'table', table.Options, table.FieldConfig>>;
export type HeatmapPanel = Plain<Of<'heatmap', heatmap.Options, heatmap.FieldConfig>>;
export type TimeseriesPanel = Plain<Of<'timeseries', timeseries.Options, timeseries.FieldConfig>>;
export type RowPanelPlain = Plain<RowPanel>;
export type Annotation = Plain<AnnotationQuery<PrometheusQuery>>;
export type DashboardPlain = Plain<Dashboard>;
