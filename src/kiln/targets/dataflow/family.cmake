# The rooms of the dataflow family, lowest first. The functional and the cycle level do not include
# each other.
kiln_family(dataflow USES run lower hardware quantise passes execute ir numerics support)
kiln_third_party(dataflow PRIVATE kiln::cbc)
kiln_family_room(dataflow/config)
kiln_family_room(dataflow/fold)
kiln_family_room(dataflow/isa)
kiln_family_room(dataflow/simulate/functional USES isa)
kiln_family_room(dataflow/simulate/cycle      USES isa)
kiln_family_room(dataflow/emit                USES isa config)
kiln_family_room(dataflow/simulate/rtl        USES emit isa config)
kiln_family_room(dataflow/cost                USES emit isa config)
kiln_family_room(dataflow/compile             USES simulate/cycle fold cost isa config)
kiln_family_command(dataflow USES command flow report hardware ir numerics support)
