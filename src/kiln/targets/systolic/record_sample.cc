// Runs the steps of a program at the functional level and records the tensors at their border.

#include "kiln/targets/systolic/record_sample.h"

#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/functional/functional.h"
#include "kiln/targets/systolic/simulate/run_steps.h"

namespace kiln::systolic {
namespace {

// Records the steps of one run.
class Recorder {
 public:
  explicit Recorder(const SystolicProgram& program)
      : program_(program), addresses_(ProgramImageOf(program).addresses) {}

  // The step of kind kInstructions with this number begins: records what the host has written since
  // the one before.
  void Begin(size_t number, std::span<const uint8_t> memory) {
    for (const Binding* binding : number == 0 ? Inputs() : std::vector<const Binding*>())
      Write(*binding, memory);
    for (; next_ < program_.steps().size(); ++next_) {
      const Step& step = program_.steps()[next_];
      if (step.kind == Step::Kind::kInstructions) break;
      for (const Binding& binding : Host(step).outputs) Write(binding, memory);
    }
    ++next_;
    sample_.Run(std::array{addresses_[number]});
  }

  // The step ends: records what the host reads before the next one begins.
  void End(std::span<const uint8_t> memory) {
    bool last = true;
    std::set<std::string> written;
    for (size_t i = next_; i < program_.steps().size() && last; ++i) {
      const Step& step = program_.steps()[i];
      last = step.kind == Step::Kind::kHost;
      if (!last) break;
      for (const Binding& binding : Host(step).inputs) Expect(binding, written, memory);
      for (const Binding& binding : Host(step).outputs) written.insert(binding.name);
    }
    if (!last) return;
    for (const Binding& binding : program_.outputs()) Expect(binding, written, memory);
  }

  const hardware::SampleRun& sample() const { return sample_; }

 private:
  const HostStep& Host(const Step& step) const {
    return program_.host_steps()[static_cast<size_t>(step.begin)];
  }
  std::vector<const Binding*> Inputs() const {
    std::vector<const Binding*> inputs;
    for (const Binding& binding : program_.inputs()) inputs.push_back(&binding);
    return inputs;
  }
  void Write(const Binding& binding, std::span<const uint8_t> memory) {
    for (const hardware::PlacedTensor& place : PlacesOf(binding)) {
      sample_.Write(place.base, memory.subspan(place.base, static_cast<size_t>(place.bytes())));
    }
  }
  // Records a tensor, unless the host writes it after the step.
  void Expect(const Binding& binding, const std::set<std::string>& written,
              std::span<const uint8_t> memory) {
    if (written.contains(binding.name)) return;
    for (const hardware::PlacedTensor& place : PlacesOf(binding))
      sample_.Expect(place, memory.subspan(place.base));
  }

  const SystolicProgram& program_;
  const std::vector<uint64_t> addresses_;
  size_t next_ = 0;  // index of the next step of the program
  hardware::SampleRun sample_;
};

}  // namespace

StatusOr<hardware::SampleRun> RecordSample(const SystolicProgram& program, const Batch& batch) {
  Recorder recorder(program);
  if (batch.inputs.empty()) return recorder.sample();
  KILN_ASSIGN_OR_RETURN(
      const std::unique_ptr<FunctionalMachine> machine,
      FunctionalMachine::Create(program.config(), program.instructions(), program.memory_top(),
                                program.constants_base(), program.constants()));
  RunOptions options;
  KILN_RETURN_IF_ERROR(
      RunSteps(program, batch, options, Level::kFunctional,
               [&](int64_t, const Step& step, size_t number, std::span<uint8_t> memory) {
                 recorder.Begin(number, memory);
                 machine->Run(step.begin, step.end, true, memory);
                 recorder.End(memory);
                 return Trace{};
               })
          .status());
  return recorder.sample();
}

}  // namespace kiln::systolic
