// The interface that all accelerator families share: one design point compiles graphs, runs programs
// and says what it costs. A program is whatever the family's machine executes: instructions of fixed
// hardware, or hardware that is built for one network.
//
// The four levels: reference (fp32, no family needed), functional (bit-accurate), cycle (bits and
// time), rtl (Verilator). For one Program and one input, functional, cycle and rtl give the same
// bits; cycle and rtl give the same cycles.
#ifndef KILN_TARGETS_INTERFACE_ACCELERATOR_H_
#define KILN_TARGETS_INTERFACE_ACCELERATOR_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/interface/trace.h"

namespace kiln {

enum class Level { kReference, kFunctional, kCycle, kRtl };
std::string_view NameOf(Level level);  // "reference", "functional", "cycle", "rtl"
StatusOr<Level> FindLevel(std::string_view name);

struct CompileOptions {
  // What the family cannot run goes to the host, kernel by kernel, and is listed; when false that
  // is an error instead.
  bool host_fallback = true;
  uint64_t seed = 1;
};

// How the rtl level runs.
struct RtlOptions {
  std::filesystem::path
      folder;  // where the design is written and its simulation built; empty: a temporary folder
  // The memory behind the ports. By default ideal: always ready, with the latency that the design
  // point states. Anything else changes cycles, never bits. The cycle level follows a latency of
  // its own (Accelerator::MostMemoryLatency), but no stalls and no DRAM.
  double stall_probability = 0;     // of each channel, in each stretch of cycles
  double dram_bytes_per_cycle = 0;  // > 0: a DRAM of this bandwidth, shared by all ports
  uint64_t dram_row_miss = 0;       // cycles more for a burst to another row
  uint64_t memory_latency = 0;  // cycles from an address to its first beat; 0: the design point's
  // Of what registers hold at power-up, and of the stalls, where the first image runs; each image
  // has one more than the image before.
  uint64_t seed = 1;
  // Cycles after which a run of the machine is given up as one that does not end; 0: never.
  uint64_t most_cycles = 0;
  bool steady_memory() const {
    return stall_probability == 0 && dram_bytes_per_cycle == 0;
  }  // of one latency
  // What the cycle level follows: a latency in place of the design point's, or 0.
  uint64_t followed_latency() const { return steady_memory() ? memory_latency : 0; }
};

struct RunOptions {
  Level level = Level::kFunctional;
  RtlOptions rtl;
  // Called now and then with the number of images done; may be empty. Called from one thread at a
  // time.
  std::function<void(int64_t done)> on_progress;
  // Called before what comes ahead of the first image and takes long: "building the simulation".
  // May be empty.
  std::function<void(std::string_view step)> on_step;
};

// One tensor per graph input, fp32 (or the input's own element type), all with the same leading
// dimension N = images. A Program is compiled for one image; Run works through the N images one by
// one (in parallel on the simulating machine, one after the other on the simulated one), or several
// at once on a machine that can.
struct Batch {
  std::vector<Tensor> inputs;
  int64_t images() const { return inputs.empty() ? 0 : inputs[0].shape()[0]; }
};

struct RunResult {
  // One tensor per graph output, leading dimension N. fp32: codes already turned into values by the
  // output's scale.
  std::vector<Tensor> outputs;
  // The same as the codes that the hardware wrote (int8, int32, ...; equal to `outputs` where the
  // output is float).
  std::vector<Tensor> codes;
  // Cycle and rtl levels: time of the first image and those that are worked on with it, and total
  // cycles of each image, of which those that are worked on at once all have the same.
  Trace trace;
  std::vector<int64_t> cycles_per_image;
};

// What Accelerator::RecordDifference has recorded.
struct Waveform {
  bool recorded = false;  // false: the levels do the same
  int kernel = 0;         // the first that differs, index into Program::kernels()
  int64_t begin = 0,
          end = 0;  // cycles, from the start of the kernel's stretch between host kernels
};

// A recipe with its name in tables and, where a name can say all of it, for --quantise.
struct NamedRecipe {
  std::string name;
  Recipe recipe;
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::string_view family() const = 0;
  virtual const std::string& name() const = 0;
  // The design point as text: every parameter with its value, as YAML that reads back to the same
  // design point.
  virtual std::string Describe() const = 0;
  // What quantisation the family asks of a graph, for quantise::Recipe checks: formats it can hold
  // activations and weights in. Compile names the value that is not in one of them.
  virtual std::vector<std::string> ActivationFormats() const = 0;
  virtual std::vector<std::string> WeightFormats() const = 0;
  // The recipe whose formats are the machine's own, so that all layers it was built for run on it.
  // Commands use it where the user names no recipe.
  virtual NamedRecipe OwnRecipe() const = 0;

  // Returns a variant of the design point that differs only in its number formats: its multipliers
  // take activations and weights of these types. Unless the family says otherwise, the formats of
  // its sums follow from the operands:
  //   operands                       psum                          accumulation
  //   those of this design point     as here                       as here
  //   both integers                  int32                         int32
  //   integers with block scales     int32                         fp32
  //   others, if sums here are       as here                       as here; with block scales fp32
  //   floats or a quire
  //   all others                     bf16; fp32 if an operand      fp32
  //                                  has more than 16 bits
  // Errors: Unimplemented, with the reason, for a family whose formats are fixed and for types that
  // the family cannot take.
  virtual StatusOr<std::unique_ptr<Accelerator>> WithFormats(const QuantType& activations,
                                                             const QuantType& weights) const;

  // `graph` has been through the standard passes, has batch dimension 1, known shapes, and
  // quantisation annotations on the values that live in hardware; a value without annotation stays
  // fp32 and its node runs on the host.
  virtual StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                                     const CompileOptions& options) const = 0;
  virtual StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                                  const RunOptions& options) const = 0;
  // Writes SystemVerilog, memory images, file list and Makefile. Unimplemented where a family has
  // no RTL yet.
  virtual Status EmitRtl(const Program& program, const std::filesystem::path& folder) const = 0;
  // At a CMOS node of hardware/technology.h. Error: no such node.
  virtual StatusOr<Cost> EstimateCost(int node_nm) const = 0;
  // Returns the cost of the machine that `program` runs on, at a CMOS node. A family whose hardware
  // is built for one network computes it from the program. For all others it is that of the design
  // point, which the default implementation returns. Errors: those of EstimateCost.
  virtual StatusOr<Cost> EstimateProgramCost(const Program& program, int node_nm) const;
  // The greatest RtlOptions::memory_latency with which the rtl level still takes the cycle level's
  // cycles: the hardware has room for as many requests under way as the design point's latency asks
  // for. 0: with the ideal memory alone.
  virtual uint64_t MostMemoryLatency() const { return 0; }
  // Why cycles of the rtl level behind that memory are not comparable with the cycle level's;
  // empty: they are.
  std::string UntimedReason(const RtlOptions& rtl) const;
  // Multiply-accumulates that the design point can do in one cycle at most, for utilisation.
  virtual double PeakMacsPerCycle() const = 0;
  // The clock frequency in MHz that the design point states, for times; 0 if it states none.
  virtual double ClockMhz() const { return 0; }
  // Looks for the first kernel that the rtl level runs in other cycles (without an UntimedReason)
  // or leaves other bits behind than the cycle level, on a batch of one image, and writes the
  // hardware's signals around it to `file` (FST). Where they do the same nothing is written.
  // Unimplemented where a family cannot record signals.
  virtual StatusOr<Waveform> RecordDifference(const Program& program, const Batch& batch,
                                              const RtlOptions& options,
                                              const std::filesystem::path& file) const;
  // What one image takes, host kernels left out. Unimplemented where a family has no such model
  // yet.
  virtual StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const;
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_ACCELERATOR_H_
