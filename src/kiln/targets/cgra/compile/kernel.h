// What a kernel of a network asks of the machine: launches of computation graphs, each with the
// vectors that the host streams in and the places that the results go to.
//
// A kernel works on buffers of 32-bit integers: codes of its operands, codes or sums of its result,
// constants, and sums between launches. A launch starts its graph `runs` times with the same
// configuration; each run has `threads` threads and sends the results of the last ones.
#ifndef KILN_TARGETS_CGRA_COMPILE_KERNEL_H_
#define KILN_TARGETS_CGRA_COMPILE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/cgra/compile/element_index.h"
#include "kiln/targets/cgra/compile/mapped_graph.h"
#include "kiln/targets/lower/channel_line.h"

namespace kiln::cgra {

// A buffer is one of: the codes of a value (`value`, read), constants (`constants`), the result of
// the kernel (`is_result`), or sums that the next launch reads.
struct Buffer {
  const Value* value = nullptr;
  std::vector<int32_t> constants = {};
  std::string name = {};  // of constants, for readers: "codes of `w`"
  bool is_result = false;
  int32_t fill = 0;  // the elements of a result or of sums before the first launch
  int64_t size = 0;
};

// An input of the launch's graph.
struct Feed {
  int buffer = 0;
  ElementIndex at;
  int32_t otherwise = 0;       // in lanes that have no element
  bool same_in_lanes = false;  // all lanes have the element of lane 0
};

// An output of the launch's graph.
struct Drain {
  int buffer = 0;
  ElementIndex at;
};

// A mapped graph with its inputs and outputs, started `runs` times with the same configuration.
struct Launch {
  std::shared_ptr<const MappedGraph> mapped;
  int64_t runs = 1;
  int64_t threads = 1;        // of each run
  int64_t first_sent = 0;     // the first thread whose results are sent
  std::vector<Feed> feeds;    // in the order of the graph's inputs
  std::vector<Drain> drains;  // in the order of the graph's outputs
};

// A kernel on the machine.
struct MachineKernel {
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  const Value* result = nullptr;
  // The values of a result that has no annotation (ValuesOfSums); else its elements are codes.
  std::optional<ChannelLine> line;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_KERNEL_H_
