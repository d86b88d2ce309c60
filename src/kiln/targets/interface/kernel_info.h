// What reports say about a kernel (KernelInfo), from the nodes that it computes.
#ifndef KILN_TARGETS_INTERFACE_KERNEL_INFO_H_
#define KILN_TARGETS_INTERFACE_KERNEL_INFO_H_

#include <span>
#include <string>
#include <string_view>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/program.h"

namespace kiln {

// Returns the name, source nodes and work of a kernel, with this unit and operation.
KernelInfo KernelInfoOf(std::span<const Node* const> nodes, std::string_view unit,
                        std::string operation);

// Returns the names of the results that only others of the nodes read, but for the roundings that
// the network itself asks for: the unrounded values of a machine that rounds the result of the
// nodes only.
std::vector<std::string> ValuesWithin(std::span<const Node* const> nodes);

// Returns the operators of the nodes, in their order: "conv + relu".
std::string OperatorsOf(std::span<const Node* const> nodes);

// Adds the certificate of one part of a kernel to that of the parts before it: costs and bounds add
// up, and the sum is optimal if every part is.
void Accumulate(const Certificate& part, Certificate* sum);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_KERNEL_INFO_H_
