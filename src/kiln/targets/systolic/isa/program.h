// A network compiled for one systolic design point: the instructions, the constants that they read,
// and the steps that the host runs. The compiler makes it; emission and all simulation levels use
// it.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_PROGRAM_H_
#define KILN_TARGETS_SYSTOLIC_ISA_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/buffer.h"
#include "kiln/support/cpu.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/encoding.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// A tensor at the border of the machine's memory: a graph input or output, or an operand or result
// of a host step.
struct Binding {
  std::string name;              // of the graph's value
  Shape shape;                   // of the tensor outside; dimension 0 is that of one image
  uint64_t base = 0;             // address of element (0, ..., 0)
  std::vector<int64_t> strides;  // bytes, one for each axis of `shape`
  // The encoding in memory. Integers and booleans are stored as int32, and floats other than fp32
  // are rounded to fp32; neither has a scale.
  Encoding encoding;
  int scale_axis = -1;  // axis of block scales
  uint64_t scale_base = 0;
  std::vector<int64_t> scale_strides;  // as in BlockView

  ElementType type() const { return encoding.type; }
  bool holds_codes() const { return !encoding.is_float() && type() == ElementType::kFloat32; }
};

// Nodes that the host runs together in fp32. It reads the inputs from the machine's memory,
// converts them to values, evaluates the graph, quantises the outputs and writes them back.
// `inputs` and `outputs` are in the order of graph->inputs() and graph->outputs().
struct HostStep {
  int kernel = 0;  // index into Program::kernels()
  std::shared_ptr<const Graph> graph;
  std::vector<Binding> inputs, outputs;
};

// A step of the program. A step starts when the previous one has ended.
struct Step {
  enum class Kind { kInstructions, kHost } kind = Kind::kInstructions;
  int begin = 0, end = 0;  // kInstructions: instructions()[begin, end); kHost: begin is the index
                           // into host_steps()
};

// A region of the memory plan.
struct Region {
  std::string name;
  uint64_t base = 0;
  int64_t bytes = 0;
  bool constant = false;
  int first = 0,
      last =
          0;  // positions of first write, last use (instructions and host steps counted together)
};

// The parts of which a SystolicProgram is built.
struct ProgramParts {
  Config config;
  std::vector<KernelInfo> kernels;
  std::vector<Instruction> instructions;  // without kEnd
  std::vector<HostStep> host_steps;
  std::vector<Step> steps;
  std::vector<Binding> inputs, outputs;  // in the order of the graph's inputs and outputs
  uint64_t constants_base = 0;
  LargeBytes constants;
  uint64_t memory_top = 0;  // address after the last byte that constants, activations or bindings
                            // use
  std::vector<Region> regions;
  std::vector<std::string> notes;  // Program::notes
};

class FunctionalMachine;

// A compiled program for a systolic design point.
class SystolicProgram final : public Program {
 public:
  explicit SystolicProgram(ProgramParts parts);

  const Config& config() const { return parts_.config; }
  const std::vector<Instruction>& instructions() const { return parts_.instructions; }
  // Returns the encoded instructions of a step of kind kInstructions as the command processor
  // fetches them, including kEnd.
  std::vector<uint8_t> EncodeStep(const Step& step) const;
  const std::vector<HostStep>& host_steps() const { return parts_.host_steps; }
  const std::vector<Step>& steps() const { return parts_.steps; }
  const std::vector<Binding>& inputs() const { return parts_.inputs; }
  const std::vector<Binding>& outputs() const { return parts_.outputs; }
  // The constants are stored at [constants_base, constants_base + constants.size()).
  uint64_t constants_base() const { return parts_.constants_base; }
  const LargeBytes& constants() const { return parts_.constants; }
  // The memory that a simulator must provide is [0, memory_top). Bytes that have not been written
  // read as zero.
  uint64_t memory_top() const { return parts_.memory_top; }
  const std::vector<Region>& regions() const { return parts_.regions; }

  std::string Print() const override;

  // What the functional level prepared in its first run at a CPU level (functional.h), kept for
  // later runs.
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

// The programs of a network in memory, after all other data: one for each step of kind
// kInstructions, in order.
struct ProgramImage {
  uint64_t base = 0;                // address of bytes[0]
  std::vector<uint8_t> bytes;       // the encoded instructions of all those steps
  std::vector<uint64_t> addresses;  // the address of each program
  uint64_t memory_bytes = 0;        // memory that the machine needs, including programs
};
ProgramImage ProgramImageOf(const SystolicProgram& program);
// Bytes after memory_bytes that the machine may read, because it fetches instruction words ahead.
inline constexpr uint64_t kPrefetchBytes = 4096;

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_PROGRAM_H_
