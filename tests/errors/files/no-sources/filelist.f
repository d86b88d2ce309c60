rtl/kiln_absent.sv
