# The packages that all units share, each after those it uses. Verilator and Yosys read them before
# any module; then they read those of each folder of rtl/ that has a packages.f of its own.
bus/kiln_axi_pkg.sv
arith/kiln_format_pkg.sv
arith/kiln_named_formats_pkg.sv
arith/kiln_fp32_pkg.sv
arith/kiln_spline_pkg.sv
arith/kiln_spline_tables_pkg.sv
arith/kiln_function_pkg.sv
arith/kiln_function_tables_pkg.sv
