# The packages of this folder, each after those it uses (rtl/packages.f).
kiln_systolic_pkg.sv
kiln_control_pkg.sv
vector/kiln_vector_pkg.sv
