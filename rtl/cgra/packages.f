# The package of this folder (rtl/packages.f).
kiln_cgra_pkg.sv
