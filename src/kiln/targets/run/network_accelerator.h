// Checks the arguments of Compile and Run for families whose design point is a struct and whose
// programs run on tensor machines.
#ifndef KILN_TARGETS_RUN_NETWORK_ACCELERATOR_H_
#define KILN_TARGETS_RUN_NETWORK_ACCELERATOR_H_

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "kiln/ir/graph.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/program.h"
#include "kiln/targets/run/host_tail.h"
#include "kiln/targets/run/own_program.h"

namespace kiln {

// Calls the family's function of this name, which the accelerator's member hides.
template <typename OwnProgram>
StatusOr<Waveform> RecordDifferenceOf(const OwnProgram& program, const Batch& batch,
                                      const RtlOptions& options, bool timed,
                                      const std::filesystem::path& file) {
  return RecordDifference(program, batch, options, timed, file);
}

// A design point of a family. `Config` has a name and a clock_mhz, `OwnProgram` is the class of the
// family's programs. The header that derives from this class declares, in the namespace of both:
//   PrintConfig       the text of Describe
//   CompileNetwork    compiles a network whose shapes are known
//   RunNetwork        runs a program, its tail included, at every level but the reference
//   RecordDifference  Accelerator::RecordDifference; `timed` says whether cycles are comparable
template <typename Config, typename OwnProgram>
class NetworkAccelerator : public Accelerator {
 public:
  explicit NetworkAccelerator(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  const std::string& name() const override { return config_.name; }
  std::string Describe() const override { return PrintConfig(config_); }
  double ClockMhz() const override { return config_.clock_mhz; }

  StatusOr<std::unique_ptr<Program>> Compile(const Graph& graph,
                                             const CompileOptions& options) const override {
    return CompileWithTail(graph, options, [&](const Graph& known) {
      return CompileNetwork(known, config_, options);
    });
  }
  StatusOr<RunResult> Run(const Program& program, const Batch& batch,
                          const RunOptions& options) const override {
    KILN_ASSIGN_OR_RETURN(const OwnProgram* own, OwnOf(program));
    if (options.level == Level::kReference) {
      return ErrorAt("", name(), "the reference level runs graphs, not programs",
                     "run the network itself at that level");
    }
    return RunNetwork(*own, batch, options);
  }
  StatusOr<Waveform> RecordDifference(const Program& program, const Batch& batch,
                                      const RtlOptions& options,
                                      const std::filesystem::path& file) const override {
    KILN_ASSIGN_OR_RETURN(const OwnProgram* own, OwnOf(program));
    return RecordDifferenceOf(*own, batch, options, UntimedReason(options).empty(), file);
  }

 protected:
  // Returns the program as one of the family. Error: another family has compiled it.
  StatusOr<const OwnProgram*> OwnOf(const Program& program) const {
    return OwnProgramOf<OwnProgram>(*this, program);
  }

  const Config config_;
};

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_NETWORK_ACCELERATOR_H_
