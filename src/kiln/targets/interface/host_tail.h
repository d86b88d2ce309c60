// The part of a network whose shapes depend on the data: NonMaxSuppression, NonZero, and all that reads their results.
// No machine has memory of a fixed size for it, so the host runs it behind the machine's last kernel, in every family.
#ifndef KILN_TARGETS_INTERFACE_HOST_TAIL_H_
#define KILN_TARGETS_INTERFACE_HOST_TAIL_H_

#include <functional>
#include <memory>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/program.h"

namespace kiln {

struct HostTail {
  // Where a value of the network stands when the tail has run.
  enum class Place {
    kInput,
    kHead,
    kTail
  };  // inputs of the network, outputs of its head, outputs of `graph`
  struct Source {
    Place place;
    size_t index;
  };
  Graph graph;                   // as CopyForHost makes it
  std::vector<Source> operands;  // of each input of `graph`
  std::vector<Source> outputs;   // of each output of the network
  KernelInfo kernel;             // for reports
};

// Compiles, with `compile`, a network of inputs of known shapes: all of it where all shapes are known; else the part
// whose shapes are known, to which the program gets the rest as its tail.
//   errors  those of shape inference and of `compile`; a tail where options.host_fallback is false
StatusOr<std::unique_ptr<Program>> CompileWithTail(
    const Graph& graph, const CompileOptions& options,
    const std::function<StatusOr<std::unique_ptr<Program>>(const Graph& known)>& compile);

// Makes of the result of a program without its tail that of the whole network: a tail runs image by image. Time and
// trace stay those of the machine.
//   errors  whatever the tail's operators report, of the lowest image that has one; results of images whose shapes
//           differ
StatusOr<RunResult> RunTail(const Program& program, const Batch& batch, RunResult head);

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_HOST_TAIL_H_
