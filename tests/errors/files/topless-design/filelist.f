top.sv
