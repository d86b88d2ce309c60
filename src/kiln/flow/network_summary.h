// Counts over a network: operators, parameters, multiply-accumulates. Used by `kiln inspect` and by
// run reports.
#ifndef KILN_FLOW_NETWORK_SUMMARY_H_
#define KILN_FLOW_NETWORK_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>

#include "kiln/ir/graph.h"

namespace kiln {

// The counts.
struct NetworkSummary {
  // The counts of one operator.
  struct OfOperator {
    int64_t nodes = 0;
    int64_t macs = 0;
  };
  int64_t nodes = 0;
  // Elements of floating-point constants, and of weights in a quantised network's integer types.
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  int64_t macs = 0;
  bool macs_known = true;  // false: nodes of unknown shape are not included in `macs`
  std::map<std::string, OfOperator> operators;  // by ONNX name
};
// Counts a graph.
NetworkSummary Summarise(const Graph& graph);

// Returns names and shapes, such as "image 1x1x28x28", joined by ", ".
std::string DescribeValues(const std::vector<Value*>& values);

}  // namespace kiln

#endif  // KILN_FLOW_NETWORK_SUMMARY_H_
