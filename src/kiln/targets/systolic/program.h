// A network compiled for one systolic design point: instructions, the constants they read, and the host's share.
#ifndef KILN_TARGETS_SYSTOLIC_PROGRAM_H_
#define KILN_TARGETS_SYSTOLIC_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/cpu.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/view.h"

namespace kiln::systolic {

// A tensor where the machine's memory meets the outside: a graph input or output, an operand or result of a host step.
struct Binding {
  std::string name;              // of the graph's value
  Shape shape;                   // outside; dimension 0 is of one image
  uint64_t base = 0;             // address of element (0, ..., 0)
  std::vector<int64_t> strides;  // bytes, one an axis of `shape`
  // In memory. Integers and booleans outside are held as int32, floats other than fp32 are rounded to it; neither has a
  // scale.
  Encoding encoding;
  int scale_axis = -1;  // of block scales
  uint64_t scale_base = 0;
  std::vector<int64_t> scale_strides;  // as BlockView's

  ElementType type() const { return encoding.type; }
  bool holds_codes() const { return !encoding.is_float() && type() == ElementType::kFloat32; }
};

// Nodes that the host runs in one go, in fp32: inputs are read from the machine's memory and turned into values, the
// graph is evaluated, outputs are quantised and written back. `inputs` and `outputs` follow graph->inputs()/outputs().
struct HostStep {
  int kernel = 0;  // index into Program::kernels()
  std::shared_ptr<const Graph> graph;
  std::vector<Binding> inputs, outputs;
};

// What happens one after the other; a step starts when the one before has ended.
struct Step {
  enum class Kind { kInstructions, kHost } kind = Kind::kInstructions;
  int begin = 0,
      end =
          0;  // kInstructions: instructions()[begin, end); kHost: begin is the index into host_steps()
};

// A piece of the memory plan.
struct Region {
  std::string name;
  uint64_t base = 0;
  int64_t bytes = 0;
  bool constant = false;
  int first = 0,
      last =
          0;  // position (instructions and host steps counted together) of first write and last use
};

struct ProgramParts {
  Config config;
  std::vector<KernelInfo> kernels;
  std::vector<Instruction> instructions;  // without kEnd
  std::vector<HostStep> host_steps;
  std::vector<Step> steps;
  std::vector<Binding> inputs, outputs;  // in the order of the graph's
  uint64_t constants_base = 0;
  std::vector<uint8_t> constants;
  uint64_t memory_top = 0;  // one past the last byte that constants, activations or bindings use
  std::vector<Region> regions;
  std::vector<std::string> notes;  // Program::notes
};

class FunctionalMachine;

class SystolicProgram final : public Program {
 public:
  explicit SystolicProgram(ProgramParts parts);

  const Config& config() const { return parts_.config; }
  const std::vector<Instruction>& instructions() const { return parts_.instructions; }
  // The instructions of one Step of kind kInstructions as the command processor fetches them, kEnd included.
  std::vector<uint8_t> EncodeStep(const Step& step) const;
  const std::vector<HostStep>& host_steps() const { return parts_.host_steps; }
  const std::vector<Step>& steps() const { return parts_.steps; }
  const std::vector<Binding>& inputs() const { return parts_.inputs; }
  const std::vector<Binding>& outputs() const { return parts_.outputs; }
  // The constant image stands at [constants_base, constants_base + constants.size()).
  uint64_t constants_base() const { return parts_.constants_base; }
  const std::vector<uint8_t>& constants() const { return parts_.constants; }
  // Memory that a simulator must provide: addresses [0, memory_top). Zero where nothing has been written.
  uint64_t memory_top() const { return parts_.memory_top; }
  const std::vector<Region>& regions() const { return parts_.regions; }

  std::string Print() const override;

  // What the functional level prepared at its first run on a processor level (functional.h), kept for the next one.
  struct FunctionalSlot {
    std::mutex mutex;
    std::shared_ptr<const FunctionalMachine> machine;
  };
  FunctionalSlot& functional_slot(CpuLevel level) const {
    return (*functional_slots_)[static_cast<size_t>(level)];
  }

 private:
  ProgramParts parts_;
  using FunctionalSlots = std::array<FunctionalSlot, std::size(kCpuLevels)>;
  std::unique_ptr<FunctionalSlots> functional_slots_ = std::make_unique<FunctionalSlots>();
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_PROGRAM_H_
