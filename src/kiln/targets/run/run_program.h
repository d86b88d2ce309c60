// Runs a compiled program on a batch of images, for all families and levels.
//
// A family implements ImageMachine, which loads images, runs the program and stores results, and
// MachineFactory, which makes these machines for one program and one level. RunProgram does the
// rest: it checks the inputs, runs images in parallel and several at once (execute/run_batch.h),
// reuses machines, joins results to tensors of the batch, and sets trace and cycles.
#ifndef KILN_TARGETS_RUN_RUN_PROGRAM_H_
#define KILN_TARGETS_RUN_RUN_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/execute/run_batch.h"
#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/interface/trace.h"

namespace kiln {

// An input of a program: one tensor for each image.
struct ProgramInput {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Shape shape;  // of one image
};

// An output of one image: its values, and the codes that the hardware wrote. Both are the same if
// the hardware writes no codes.
struct OutputTensor {
  Tensor values, codes;
};

// A machine with its own memory that has the program loaded. Only one thread at a time uses it.
class ImageMachine {
 public:
  virtual ~ImageMachine() = default;
  // Starts a group of at most Program::images_at_once() images. State of an earlier group must not
  // affect results or cycles.
  virtual void Begin(const ImageGroup& group) = 0;
  // Loads an input of the group's image `row`, counted from 0. The tensor has the type and shape of
  // the factory's Inputs(). Its bytes remain valid until the group is done, the object only during
  // the call.
  virtual Status Load(int64_t row, size_t input, const Tensor& tensor) = 0;
  // Runs the program once, including host kernels, on the group's images. Returns the accelerator's
  // trace, which RunProgram ignores if the machines do not count cycles. Use AppendTrace to join
  // the parts of a run; RunProgram sets Trace::images and calls MergeKernels.
  virtual StatusOr<Trace> Run() = 0;
  // Returns the outputs of the group's image `row`, in the order of the graph's outputs. Types and
  // shapes are the same for all images.
  virtual std::vector<OutputTensor> Outputs(int64_t row) const = 0;
};

// Makes the machines for one program and one level.
class MachineFactory {
 public:
  virtual ~MachineFactory() = default;
  // Returns the inputs in the order of the graph's inputs.
  virtual std::vector<ProgramInput> Inputs() const = 0;
  // Prepares what all machines need. Called once, after the inputs have been checked.
  virtual Status Prepare() { return OkStatus(); }
  // Makes a machine whose first group begins with image `first`. Several threads may call it.
  virtual StatusOr<std::unique_ptr<ImageMachine>> Make(int64_t first) = 0;
  // Returns whether the machines count cycles: all but those of the functional level.
  virtual bool HasTime() const = 0;
  // Returns whether a machine may run several groups, one after another. If not, each group gets a
  // new machine.
  virtual bool ReusesMachines() const { return true; }
};

// Runs `program` without its tail (host_tail.h). The trace is that of the first group, and all
// images of a group have the group's cycles. Machines that do not count cycles produce neither.
//   errors  inputs that do not fit the program, with both shapes; errors of the factory; the error
//           of the lowest image that fails (RunGroups)
StatusOr<RunResult> RunProgram(const Program& program, const Batch& batch,
                               const RunOptions& options, MachineFactory& factory);

// Runs one image alone on a machine. `inputs` have the types and shapes of the factory's Inputs().
Status RunImage(ImageMachine& machine, std::span<const Tensor> inputs);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_RUN_PROGRAM_H_
