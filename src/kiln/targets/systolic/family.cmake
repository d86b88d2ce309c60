# The systolic family: its rooms, from the lowest layer to the highest. The functional and the cycle
# level do not include each other.
kiln_family(systolic USES run lower hardware quantise passes execute ir numerics support)
kiln_family_room(systolic/config)
kiln_family_room(systolic/isa                 USES config)
kiln_family_room(systolic/simulate            USES isa config)
kiln_family_room(systolic/simulate/functional USES simulate isa config)
kiln_family_room(systolic/simulate/cycle      USES simulate isa config)
kiln_family_room(systolic/emit                USES isa config)
kiln_family_room(systolic/simulate/rtl        USES emit simulate/cycle simulate isa config)
kiln_family_room(systolic/cost                USES isa config)
kiln_family_room(systolic/compile             USES cost simulate isa config)
