// A compiled network of the dataflow family: its segments as pipelines, and what the host does.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_PROGRAM_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_PROGRAM_H_

#include <map>
#include <string>
#include <vector>

#include "kiln/targets/dataflow/compile/assemble.h"
#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/compile/network.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/interface/program.h"

namespace kiln::dataflow {

// A segment with the pipeline that runs it.
struct Segment {
  Pipeline pipeline;
  PipelinePace pace;
  int part = 0;  // the device or the pass that holds it
};

// What the folding search found.
struct FoldReport {
  int64_t interval = 0, idle = 0;  // cycles per image: predicted interval, and idle of all layers
  bool optimal = false;
  std::string proof;  // in one line
};

class DataflowProgram final : public Program {
 public:
  DataflowProgram(Config config, Lowered network, std::vector<LayerFold> folds,
                  std::vector<Segment> segments, FoldReport report);
  std::string Print() const override;

  const Config& config() const { return config_; }
  const Lowered& network() const { return network_; }
  const std::vector<LayerFold>& folds() const { return folds_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const FoldReport& report() const { return report_; }
  // Return the number of a layer's kernel, and of a host kernel.
  int KernelOfLayer(size_t layer) const { return layer_kernels_[layer]; }
  int KernelOfHost(size_t host) const { return host_kernels_[host]; }
  // Returns the cycles between images in the steady state: the largest number of cycles of a
  // segment or link, or, with passes, the sum over all passes, hand-overs and reloads. Segments
  // between which the host runs kernels work on different images at the same time.
  int64_t Interval() const;
  // As Interval(), with simulated memory: `cycles[i]` is the interval of part i when it runs alone,
  // with what it reads and writes of that memory.
  int64_t IntervalOfParts(const std::map<int, int64_t>& cycles) const;

 private:
  void AddKernels();
  // Returns "device 1, " or "pass 1, "; empty if the network is not cut.
  std::string PlaceOf(const Segment& segment) const;

  Config config_;
  Lowered network_;
  std::vector<LayerFold> folds_;  // by layer
  std::vector<Segment> segments_;
  FoldReport report_;
  std::vector<int> layer_kernels_, host_kernels_;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_PROGRAM_H_
