# The package of this folder (rtl/packages.f).
kiln_binary_pkg.sv
