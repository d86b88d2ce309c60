// The exact mapper: least initiation interval, then least latency, by Kiln's own branch and bound.
#ifndef KILN_TARGETS_CGRA_MAP_EXACT_H_
#define KILN_TARGETS_CGRA_MAP_EXACT_H_

#include <memory>

#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {

// A step is a node of the search.
std::unique_ptr<Mapper> MakeExactMapper();

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_EXACT_H_
