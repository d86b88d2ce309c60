top.sv; !touch marker
