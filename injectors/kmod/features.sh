#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the kernel at hand has, read from its iommu.h, as options of the compiler: a version does not
# tell, since distributions move such changes between versions. compat.h says what they mean.
header=$1

has() {
	grep -zqP "$2" "$header" && printf ' -DFAULTLINE_%s=1' "$1"
}

if [ ! -r "$header" ]; then
	printf ' -DFAULTLINE_NO_HEADER'
	exit
fi
has FAULT_EVENT 'iommu_register_device_fault_handler\('
has ATTACH_OLD '\(\*attach_dev\)\([^)]*\*old\)'
has PASID '\(\*set_dev_pasid\)\('
has PASID_OLD '\(\*set_dev_pasid\)\([^)]*\*old\)'
has REMOVE_PASID '\(\*remove_dev_pasid\)\('
has ALLOC_PAGING '\(\*domain_alloc_paging\)\('
has PAGING_FLAGS '\(\*domain_alloc_paging_flags\)\('
has ALLOC_SVA '\(\*domain_alloc_sva\)\('
has COOKIE_TYPE 'enum iommu_domain_cookie_type'
has OPS_PGSIZES 'pgsize_bitmap;\s*struct module \*owner'
# Of iommufd, whose header is beside it.
header=$(dirname "$header")/iommufd.h
has IOMMUFD_PASID 'iommufd_device_attach\([^)]*ioasid_t pasid'
header=$(dirname "$header")/module.h
has NAMESPACE_WORD 'define MODULE_IMPORT_NS\(ns\)\s+MODULE_INFO\(import_ns, __stringify'
exit 0
