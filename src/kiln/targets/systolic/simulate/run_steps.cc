// Runs programs on the images of a batch, with the steps of a given level.
#include "kiln/targets/systolic/simulate/run_steps.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kiln/targets/run/host_graph.h"
#include "kiln/targets/run/merge_trace.h"
#include "kiln/targets/run/run_program.h"
#include "kiln/targets/systolic/simulate/binding.h"

namespace kiln::systolic {
namespace {

// The machine's memory [0, memory_top) for one image: the constants, the image's inputs, and zeros
// elsewhere. Runs the program's steps on it.
class StepMachine final : public ImageMachine {
 public:
  StepMachine(const SystolicProgram& program, const StepRunner& run)
      : program_(program), run_(run), memory_(program.memory_top(), 0) {
    std::copy(program.constants().begin(), program.constants().end(),
              memory_.begin() + static_cast<std::ptrdiff_t>(program.constants_base()));
  }

  void Begin(const ImageGroup& group) override {
    image_ = group.first;
    // An image must not see data of another image, or results could depend on which thread ran
    // which image. Nothing writes to the constants.
    const uint64_t constants = program_.constants_base();
    const auto constants_end = static_cast<std::ptrdiff_t>(constants + program_.constants().size());
    std::fill_n(memory_.begin(), constants, uint8_t{0});
    std::fill(memory_.begin() + constants_end, memory_.end(), uint8_t{0});
  }
  Status Load(int64_t, size_t input, const Tensor& tensor) override {
    return Store(tensor, program_.inputs()[input], memory_);
  }
  StatusOr<Trace> Run() override {
    Trace trace;
    size_t number = 0;
    for (const Step& step : program_.steps()) {
      if (step.kind == Step::Kind::kHost) {
        KILN_RETURN_IF_ERROR(
            RunHostStep(program_.host_steps()[static_cast<size_t>(step.begin)], memory_));
        continue;
      }
      KILN_ASSIGN_OR_RETURN(const Trace part, run_(image_, step, number++, memory_));
      AppendTrace(part, &trace);
    }
    return trace;
  }
  std::vector<OutputTensor> Outputs(int64_t) const override {
    std::vector<OutputTensor> outputs;
    for (const Binding& binding : program_.outputs())
      outputs.push_back({systolic::Load(binding, memory_), LoadCodes(binding, memory_)});
    return outputs;
  }

 private:
  const SystolicProgram& program_;
  const StepRunner& run_;
  int64_t image_ = 0;
  std::vector<uint8_t> memory_;
};

class StepMachines final : public MachineFactory {
 public:
  StepMachines(const SystolicProgram& program, Level level, const StepRunner& run)
      : program_(program), level_(level), run_(run) {}

  std::vector<ProgramInput> Inputs() const override {
    std::vector<ProgramInput> inputs;
    for (const Binding& b : program_.inputs()) inputs.push_back({b.name, b.type(), b.shape});
    return inputs;
  }
  StatusOr<std::unique_ptr<ImageMachine>> Make(int64_t) override {
    return std::make_unique<StepMachine>(program_, run_);
  }
  bool HasTime() const override { return level_ != Level::kFunctional; }

 private:
  const SystolicProgram& program_;
  const Level level_;
  const StepRunner& run_;
};

}  // namespace

std::span<const Instruction> InstructionsOf(const SystolicProgram& program, const Step& step) {
  return std::span<const Instruction>(program.instructions())
      .subspan(static_cast<size_t>(step.begin), static_cast<size_t>(step.end - step.begin));
}

Status RunHostStep(const HostStep& step, std::span<uint8_t> memory) {
  return RunHostKernel(
      *step.graph, [&](size_t i) { return Load(step.inputs[i], memory); },
      [&](size_t i, const Tensor& computed) { return Store(computed, step.outputs[i], memory); });
}

StatusOr<RunResult> RunSteps(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options, Level level, const StepRunner& run) {
  StepMachines machines(program, level, run);
  return RunProgram(program, batch, options, machines);
}

}  // namespace kiln::systolic
