# made by kiln
rtl/kiln_fifo_pkg.sv
rtl/kiln_fifo.sv 

// top
top.sv
