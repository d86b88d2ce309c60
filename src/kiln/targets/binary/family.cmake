# The rooms of the binary family, lowest first. The functional and the cycle level do not include
# each other.
kiln_family(binary USES run lower hardware quantise passes execute ir numerics support)
kiln_family_room(binary/tables)
kiln_family_room(binary/predict USES tables)
kiln_family_room(binary/block)
kiln_family_room(binary/config)
kiln_family_room(binary/isa USES config)
kiln_family_room(binary/simulate/functional USES isa config)
kiln_family_room(binary/simulate/cycle      USES isa config)
kiln_family_room(binary/emit                USES isa config)
kiln_family_room(binary/simulate/rtl        USES emit isa config)
kiln_family_room(binary/compile             USES isa config)
kiln_family_command(binary USES command flow report frontend targets hardware ir numerics support)
