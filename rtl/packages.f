# The packages of rtl/, each after those it uses. Verilator and Yosys read them before any module.
bus/kiln_axi_pkg.sv
vta/kiln_vta_pkg.sv
systolic/kiln_systolic_pkg.sv
arith/kiln_format_pkg.sv
arith/kiln_named_formats_pkg.sv
arith/kiln_fp32_pkg.sv
arith/kiln_spline_pkg.sv
arith/kiln_spline_tables_pkg.sv
systolic/kiln_control_pkg.sv
systolic/vector/kiln_vector_pkg.sv
