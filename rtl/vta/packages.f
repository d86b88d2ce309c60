# The packages of this folder (rtl/packages.f).
kiln_vta_pkg.sv
