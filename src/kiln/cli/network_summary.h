// Counts over a network: operators, parameters, multiply-accumulates.
#ifndef KILN_CLI_NETWORK_SUMMARY_H_
#define KILN_CLI_NETWORK_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>

#include "kiln/ir/graph.h"

namespace kiln::cli {

struct NetworkSummary {
  struct OfOperator {
    int64_t nodes = 0;
    int64_t macs = 0;
  };
  int64_t nodes = 0;
  int64_t parameters =
      0;  // elements of floating-point constants, and of weights in the integer types of a quantised net
  int64_t parameter_bytes = 0;
  int64_t macs = 0;
  bool macs_known = true;  // false: some shape is unknown, and `macs` counts the others
  std::map<std::string, OfOperator> operators;  // by ONNX name
};
NetworkSummary Summarise(const Graph& graph);

// "image 1x1x28x28", several joined by ", ".
std::string DescribeValues(const std::vector<Value*>& values);

}  // namespace kiln::cli

#endif  // KILN_CLI_NETWORK_SUMMARY_H_
