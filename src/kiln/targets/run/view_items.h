// Tensors that only move the elements of others, for the README of an emitted folder.
#ifndef KILN_TARGETS_RUN_VIEW_ITEMS_H_
#define KILN_TARGETS_RUN_VIEW_ITEMS_H_

#include <span>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/run/tensor_machine.h"

namespace kiln {

// Returns a Markdown item for each tensor that `read` names and that the host derives, and for the
// tensors from which it derives them: which element of another tensor each element is.
std::vector<std::string> ViewItems(std::span<const DerivedValue> views,
                                   std::vector<const Value*> read);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_VIEW_ITEMS_H_
