# Tests of the systolic family.
kiln_tests(systolic FOLDER targets/systolic LINK kiln_systolic kiln_targets kiln_frontend)
