// Random graphs with the patterns that passes look for: batch normalisation after convolutions,
// spelled-out GELU, attention.
#ifndef KILN_TESTS_PASSES_RANDOM_PATTERNS_H_
#define KILN_TESTS_PASSES_RANDOM_PATTERNS_H_

#include <cstdint>

#include "kiln/ir/graph.h"

namespace kiln {

// Returns a network of a few stages on small random tensors. Each stage is a pattern that a pass
// transforms, in one of its spellings, sometimes with a second user of an inner value, so that the
// pass must keep it. A pure function of the seed.
Graph RandomPatternGraph(uint64_t seed);

}  // namespace kiln

#endif  // KILN_TESTS_PASSES_RANDOM_PATTERNS_H_
