// Random graphs that contain what passes look for: batch normalisation after convolutions, GELU spelled out, attention.
#ifndef KILN_TESTS_PASSES_RANDOM_PATTERNS_H_
#define KILN_TESTS_PASSES_RANDOM_PATTERNS_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// A network of a few stages, each a pattern that some pass transforms, in one of its spellings, on small random
// tensors; now and then with a second user of an inner value, so that a pass must keep it. A pure function of the seed.
Graph RandomPatternGraph(uint64_t seed);

}  // namespace kiln

#endif  // KILN_TESTS_PASSES_RANDOM_PATTERNS_H_
