// The exact mapper: least initiation interval, then least latency, by Kiln's own branch and bound.
#ifndef KILN_TARGETS_CGRA_MAP_EXACT_H_
#define KILN_TARGETS_CGRA_MAP_EXACT_H_

#include <memory>

#include "kiln/targets/cgra/map/mapper.h"
#include "kiln/targets/cgra/map/search_order.h"

namespace kiln::cgra {

// A step is a node of the search.
std::unique_ptr<Mapper> MakeExactMapper();
// The same search, which tries tiles and issue cycles of an instruction in this order. It proves
// the same, in another number of steps.
std::unique_ptr<Mapper> MakeExactMapperInOrder(MakeSearchOrder make_order);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_EXACT_H_
