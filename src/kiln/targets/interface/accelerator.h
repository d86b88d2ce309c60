// The interface that all accelerator families share. An Accelerator is one design point: it
// compiles graphs, runs programs, and estimates area and energy. A program is what the family's
// machine executes: instructions for fixed hardware, or hardware that is built for one network.
//
// A program runs at one of four levels: reference (fp32, needs no family), functional
// (bit-accurate), cycle (bits and time) or rtl (Verilator). For the same program and inputs, the
// functional, cycle and rtl levels give the same bits, and the cycle and rtl levels the same
// cycles.
#ifndef KILN_TARGETS_INTERFACE_ACCELERATOR_H_
#define KILN_TARGETS_INTERFACE_ACCELERATOR_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/netlist_kind.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/recipe.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/cost.h"
#include "kiln/targets/interface/objective.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/interface/traffic.h"

namespace kiln::hardware {
struct InputPreprocess;
}  // namespace kiln::hardware

namespace kiln {

enum class Level { kReference, kFunctional, kCycle, kRtl };
// Returns the level's name: "reference", "functional", "cycle" or "rtl".
std::string_view NameOf(Level level);
// Returns the level of this name. Error: unknown level.
StatusOr<Level> FindLevel(std::string_view name);

struct CompileOptions {
  // Whether kernels that the family cannot run are assigned to the host and listed. If false, such
  // a kernel is an error.
  bool host_fallback = true;
  // What schedules minimise. One of Accelerator::Objectives; a family ignores the others, so
  // callers call CheckObjective first.
  Objective objective = Objective::kCycles;
  int node_nm = kDefaultNode;  // CMOS node of the energies that kEnergy and kEdp weigh
  // > 0: the bandwidth of the memory behind all ports together, for objectives that weigh cycles. A
  // family whose schedules do not depend on it ignores it.
  double memory_bytes_per_cycle = 0;
  uint64_t seed = 1;
};

// Settings of the rtl level.
struct RtlOptions {
  // Where the design is written and its simulation is built. Empty: a temporary folder.
  std::filesystem::path folder;
  // The netlist of standard cells that is simulated in place of the SystemVerilog
  // (hardware/gate_level.h).
  hardware::NetlistKind netlist = hardware::NetlistKind::kNone;
  // The memory behind the ports. By default it is ideal: always ready, with the design point's
  // latency. Other memories change cycles, never bits. The cycle level simulates other latencies
  // and a DRAM (Accelerator::SimulatesMemory), but no stalls.
  double stall_probability = 0;     // of each AXI channel, for each stretch of 1 to 8 cycles
  double dram_bytes_per_cycle = 0;  // > 0: a DRAM of this bandwidth, shared by all ports
  uint64_t dram_row_miss = 0;       // additional cycles of a burst to another DRAM row
  uint64_t memory_latency = 0;  // cycles from an address to its first beat; 0: the design point's
  // Seed of the stalls and of the registers' contents at power-up. Image i uses seed + i.
  uint64_t seed = 1;
  // Cycles after which a run that has not ended is stopped with an error. 0: no limit.
  uint64_t most_cycles = 0;
  // Whether every request has the same latency.
  bool steady_memory() const { return stall_probability == 0 && dram_bytes_per_cycle == 0; }
  // Returns the memory latency that the cycle level uses, or 0 for the design point's.
  uint64_t followed_latency() const { return steady_memory() ? memory_latency : 0; }
};

struct RunOptions {
  Level level = Level::kFunctional;
  RtlOptions rtl;
  // Called from time to time with the number of finished images, from one thread at a time. May be
  // empty.
  std::function<void(int64_t done)> on_progress;
  // Called before each long step that precedes the first image, such as "building the simulation".
  // May be empty.
  std::function<void(std::string_view step)> on_step;
};

// The inputs of a run: one tensor per graph input, fp32 or of the input's own element type, all
// with the same leading dimension N, the number of images. A Program is compiled for one image. The
// simulated machine runs the N images one after the other, or several at a time if it can; the
// simulator may simulate images in parallel.
struct Batch {
  std::vector<Tensor> inputs;
  int64_t images() const { return inputs.empty() ? 0 : inputs[0].shape()[0]; }
};

struct RunResult {
  // One tensor per graph output, [N, ...]: values in fp32, computed from the codes by the output's
  // scale.
  std::vector<Tensor> outputs;
  // The codes that the hardware wrote (int8, int32, ...). Equal to `outputs` for float outputs.
  std::vector<Tensor> codes;
  // Cycle and rtl levels only: the trace of the first image, and of the images that the machine
  // runs at the same time.
  Trace trace;
  // Cycle and rtl levels only. Images that run at the same time all have the cycles of their run.
  std::vector<int64_t> cycles_per_image;
};

// What an emitted folder holds beside the machine and its program.
struct FolderContent {
  std::string network;  // the name of the network for the README
  // One image. The folder gets it as the input of `make sim`, with the output that the functional
  // level computes. Without inputs, the folder has no such sample.
  Batch sample;
  std::string figures;       // Markdown for the README: clock, speed, area, energy. May be empty.
  double clock_mhz = 0;      // for the constraint of the clock; 0: the design point states none
  std::string kernels = {};  // the text of kernels.txt, a list of the network's kernels
  // Of the network's input, valid as long as the content; null: the README says nothing of it.
  const hardware::InputPreprocess* preprocess = nullptr;
};

// The result of Accelerator::RecordDifference.
struct Waveform {
  bool recorded = false;  // false: the levels agree
  int kernel = 0;         // the first kernel that differs, an index into Program::kernels()
  // The recorded cycles, counted from the start of the sequence of accelerator kernels, between two
  // host kernels, that contains `kernel`.
  int64_t begin = 0, end = 0;
};

// A recipe with a name for tables. If the name describes the recipe completely, --quantise accepts
// it as well.
struct NamedRecipe {
  std::string name;
  Recipe recipe;
};

// A design point of a family.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual std::string_view family() const = 0;
  virtual const std::string& name() const = 0;
  // Returns every parameter with its value, as YAML that parses to the same design point.
  virtual std::string Describe() const = 0;
  // Return the formats in which the machine can hold activations and weights, for checks of
  // recipes. Compile reports a value of any other format.
  virtual std::vector<std::string> ActivationFormats() const = 0;
  virtual std::vector<std::string> WeightFormats() const = 0;
  // Returns the recipe with the machine's own formats, so that all layers it was built for can run
  // on it. Commands use it if the user names no recipe.
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

  // Returns the objectives that schedules can be chosen by. By default only cycles.
  virtual std::vector<Objective> Objectives() const { return {Objective::kCycles}; }
  // Returns an error that names the possible objectives if `objective` is none of them.
  Status CheckObjective(Objective objective) const;
  // Compiles a graph after the standard passes. The graph must have batch dimension 1, known
  // shapes, and quantisation annotations on the values that the hardware holds. A value without
  // annotation stays fp32, and its node runs on the host. Errors: a node or format that the family
  // cannot run, if options.host_fallback is false; a kernel that does not fit the machine.
  virtual StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                                     const CompileOptions& options) const = 0;
  // Runs a program that this accelerator compiled on all images of the batch. Errors: inputs whose
  // number, shape or element type does not match the graph's; failures of the simulation.
  virtual StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                                  const RunOptions& options) const = 0;
  // Writes SystemVerilog, memory images, a file list, a Makefile, a README and the sample of
  // `content` to `folder`. Errors: Unimplemented if the family has no RTL; a sample that does not
  // fit the program; files that cannot be written.
  virtual Status EmitRtl(const Program& program, const FolderContent& content,
                         const std::filesystem::path& folder) const = 0;
  // Returns the cost of the design point at a CMOS node of hardware/technology.h. Error: no such
  // node.
  virtual StatusOr<Cost> EstimateCost(int node_nm) const = 0;
  // Returns the cost of the machine that `program` runs on, at a CMOS node. A family whose hardware
  // is built for one network computes it from the program. The default implementation returns the
  // cost of the design point. Errors: those of EstimateCost.
  virtual StatusOr<Cost> EstimateProgramCost(const Program& program, int node_nm) const;
  // Returns the largest RtlOptions::memory_latency for which the hardware can keep enough requests
  // in flight, so that its ports never wait. 0 for machines without memory behind their ports: a
  // machine of streams has no memory by default, and with one in RtlOptions its streams are read
  // from it and stored in it, as in the folder soc/ of its project, through ports that nothing
  // adapts.
  virtual uint64_t MostMemoryLatency() const { return 0; }
  // Returns whether the cycle level simulates a memory of any latency and a DRAM of
  // RtlOptions::dram_bytes_per_cycle and dram_row_miss, with the rtl level's cycles: every machine
  // with memory behind its ports, and some machines of streams.
  virtual bool SimulatesMemory() const { return MostMemoryLatency() > 0; }
  // Returns the cycles between images that follow one another in one run, behind the memory of
  // `rtl`; 0 if images do not follow one another in a run. For machines with SimulatesMemory.
  // Errors: those of the cycle level.
  virtual StatusOr<int64_t> IntervalBehind(const Program& program, const RtlOptions& rtl) const;
  // Returns the same design point with a MostMemoryLatency of `cycles`: its ports keep more or
  // fewer requests in flight. Errors: the machine has no memory; a latency that its keys do not
  // allow.
  virtual StatusOr<std::unique_ptr<Accelerator>> WithMemoryLatency(uint64_t cycles) const;
  // Returns why cycles of the rtl level with this memory cannot be compared with the cycle level's,
  // or "" if they can.
  std::string UntimedReason(const RtlOptions& rtl) const;
  // Returns the largest number of multiply-accumulates per cycle, for utilisation.
  virtual double PeakMacsPerCycle() const = 0;
  // Returns the design point's clock frequency in MHz, for times, or 0 if it states none.
  virtual double ClockMhz() const { return 0; }
  // Finds the first kernel for which the rtl and the cycle level differ, on a batch of one image,
  // and writes the hardware's signals around the difference to `file` (FST). The bits in memory are
  // compared and, if there is no UntimedReason, the cycles. Writes nothing if the levels agree.
  // Error: Unimplemented if the family cannot record signals.
  virtual StatusOr<Waveform> RecordDifference(const Program& program, const Batch& batch,
                                              const RtlOptions& options,
                                              const std::filesystem::path& file) const;
  // Returns the energy of one image, without host kernels. Error: Unimplemented if the family has
  // no energy model.
  virtual StatusOr<Energy> EstimateEnergy(const Program& program, int node_nm) const;
  // Returns the bytes that each kernel moves for one image, by port. Error: Unimplemented if the
  // family does not count them.
  virtual StatusOr<Traffic> EstimateTraffic(const Program& program) const;
  // Returns the family's own pictures of kernels for reports, in the order of kernels; by default
  // none. A family limits their number.
  virtual StatusOr<std::vector<KernelPicture>> DrawKernels(const Program& /*program*/) const {
    return std::vector<KernelPicture>();
  }
};

}  // namespace kiln

#endif  // KILN_TARGETS_INTERFACE_ACCELERATOR_H_
