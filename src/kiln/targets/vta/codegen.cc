#include "kiln/targets/vta/codegen.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/cycle.h"

namespace kiln::vta {
namespace {

struct MatrixCode {
  Launch launch;
  MatrixTiling tiling;
  Certificate certificate;
};

constexpr int kMeasured = 6;  // tilings that are run at the cycle level
// Where the best of them takes so many times the bound, others are run, too, for about so many cycles in all.
constexpr double kGood = 1.01;
constexpr double kMoreCycles = 1e7;

// Cycles of a launch in a memory of that image; what it computes does not matter.
StatusOr<int64_t> CyclesOf(const Launch& launch, const MemoryImage& image, const Config& config) {
  DeviceMemory memory(MemoryImage::kBase, image.bytes());
  CycleMachine machine(config);
  const CycleMachine::Result result = machine.Launch(memory, launch.address, launch.instructions.size());
  if (result.fault.has_value()) {
    return absl::InternalError(fmt::format("instruction {}: {}", result.fault->instruction, result.fault->message));
  }
  return static_cast<int64_t>(result.time.cycles);
}

// Runs tilings of a layer at the cycle level and keeps the fastest.
class Trials {
 public:
  Trials(const MatrixLayer& layer, const CodeContext& context)
      : layer_(layer), context_(context), shape_(ShapeOf(layer, context.network)) {}

  const MatrixShape& shape() const { return shape_; }
  // The first `most` of them whose micro-ops fit.
  Status Run(const std::vector<RankedTiling>& tilings, int most) {
    int measured = 0;
    for (const RankedTiling& ranked : tilings) {
      if (measured == most) break;
      KILN_ASSIGN_OR_RETURN(const bool fits, Try(ranked.tiling));
      if (fits) ++measured;
    }
    return OkStatus();
  }
  // What the estimate may be wrong about: the best two by it of each size of tiles; then from the
  // fastest to a neighbour that is faster, as long as there is one.
  Status RunMore(const std::vector<RankedTiling>& tilings) {
    std::map<int, int> of_size;
    for (const RankedTiling& ranked : tilings) {
      if (!IsWorthMore()) return OkStatus();
      if (++of_size[SizeClassOf(ranked.tiling)] > 2) continue;
      KILN_RETURN_IF_ERROR(Try(ranked.tiling).status());
    }
    for (double before = 0; IsWorthMore() && best_->certificate.cost != before;) {
      before = best_->certificate.cost;
      for (const MatrixTiling& tiling : NeighboursOf(shape_, best_->tiling, context_.config)) {
        if (!IsWorthMore()) break;
        KILN_RETURN_IF_ERROR(Try(tiling).status());
      }
    }
    return OkStatus();
  }
  // The fastest, with its constants and program in memory; Unimplemented: none fits.
  StatusOr<MatrixCode> Take() {
    if (!best_.has_value()) return reason_;
    *context_.image = std::move(image_of_best_);
    return *std::move(best_);
  }

 private:
  bool IsWorthMore() const {
    return best_.has_value() && best_->certificate.cost > kGood * best_->certificate.lower_bound &&
           cycles_ < kMoreCycles;
  }

  // Whether it fits; one that was tried before is not run again.
  StatusOr<bool> Try(const MatrixTiling& tiling) {
    if (std::find(tried_.begin(), tried_.end(), tiling) != tried_.end()) return true;
    tried_.push_back(tiling);
    MemoryImage image = *context_.image;
    auto launch = GenerateMatrix(layer_, tiling, {context_.config, context_.network, context_.map_addresses, &image});
    if (launch.status().code() == StatusCode::kUnimplemented) {
      reason_ = launch.status();
      return false;
    }
    KILN_RETURN_IF_ERROR(launch.status());
    KILN_ASSIGN_OR_RETURN(const int64_t cycles, CyclesOf(*launch, image, context_.config));
    cycles_ += static_cast<double>(cycles);
    if (!best_.has_value() || static_cast<double>(cycles) < best_->certificate.cost) {
      best_ = MatrixCode{*std::move(launch), tiling, CertificateOf(shape_, context_.config, cycles)};
      image_of_best_ = std::move(image);
    }
    return true;
  }

  const MatrixLayer& layer_;
  const CodeContext& context_;
  const MatrixShape shape_;
  Status reason_ = absl::UnimplementedError("the input of one output needs more than the buffers hold");
  std::optional<MatrixCode> best_;
  MemoryImage image_of_best_;
  std::vector<MatrixTiling> tried_;
  double cycles_ = 0;  // of all that were run
};

// The fastest of the tilings that promise most.
StatusOr<MatrixCode> GenerateWith(const MatrixLayer& layer, int threads, const CodeContext& context) {
  Trials trials(layer, context);
  const std::vector<RankedTiling> ranked = RankTilings(trials.shape(), context.config, threads);
  KILN_RETURN_IF_ERROR(trials.Run(ranked, kMeasured));
  KILN_RETURN_IF_ERROR(trials.RunMore(ranked));
  return trials.Take();
}

// With so many virtual threads, or as many as there can be; 0: as many as are best.
StatusOr<MatrixCode> GenerateBest(const MatrixLayer& layer, int threads, const CodeContext& context) {
  const MemoryImage before = *context.image;
  const bool any = threads == 0;
  if (any) threads = kMaxThreads;
  StatusOr<MatrixCode> best = absl::UnimplementedError("");
  MemoryImage image_of_best;
  for (; threads > 0; --threads) {
    MemoryImage image = before;
    StatusOr<MatrixCode> code =
        GenerateWith(layer, threads, {context.config, context.network, context.map_addresses, &image});
    if (!code.ok() && code.status().code() != StatusCode::kUnimplemented) return code.status();
    if (!best.ok() && !code.ok()) best = code.status();
    if (code.ok() && (!best.ok() || code->certificate.cost < best->certificate.cost)) {
      best = std::move(code);
      image_of_best = std::move(image);
    }
    if (best.ok() && (!any || threads == 2)) break;  // one never overlaps anything
  }
  if (best.ok()) *context.image = std::move(image_of_best);
  return best;
}

struct VectorCode {
  Launch launch;
  Certificate certificate;
};

StatusOr<VectorCode> GenerateMeasured(const VectorLayer& layer, int threads, const CodeContext& context) {
  VectorCode code;
  KILN_ASSIGN_OR_RETURN(code.launch, GenerateVector(layer, threads, context));
  KILN_ASSIGN_OR_RETURN(const int64_t cycles, CyclesOf(code.launch, *context.image, context.config));
  code.certificate = CertificateOf(layer, context, cycles);
  return code;
}

// The host, roughly: operations a microsecond, and microseconds before an operator begins.
constexpr double kHostOperations = 500, kHostBegin = 50;

RunPlan PlanOf(const ProgramParts& parts) {
  std::vector<PlannedStep> steps;
  for (size_t i = 0; i < parts.steps.size(); ++i) {
    const Step& step = parts.steps[i];
    const KernelInfo& kernel = parts.kernels[i];
    PlannedStep planned{step.transfers, nullptr, step.reads, step.writes, 0};
    if (step.host.has_value()) {
      planned.host = &*step.host;
      planned.microseconds = kHostBegin + static_cast<double>(kernel.operations) / kHostOperations;
    } else {
      planned.microseconds = kernel.certificate.cost / parts.config.clock_mhz;
    }
    steps.push_back(std::move(planned));
  }
  return PlanRun(steps, parts.final_transfers, parts.maps, parts.config);
}

}  // namespace

StatusOr<std::unique_ptr<VtaProgram>> Generate(Network network, const Config& config, int threads, Refusals* refusals) {
  ProgramParts parts;
  parts.config = config;
  parts.images_at_once = network.images_at_once;
  MemoryImage image;
  for (const FeatureMap& map : network.maps) {
    const auto bytes = static_cast<uint64_t>(map.bytes(config));
    if (map.inside.has_value()) {
      const auto other = static_cast<size_t>(map.inside->map);
      const int64_t before = map.inside->first_block * map.rows() * map.pitch() * config.output_element_bytes();
      KILN_CHECK(map.rows() == network.maps[other].rows() && map.pitch() == network.maps[other].pitch());
      parts.map_addresses.push_back(parts.map_addresses[other] + static_cast<uint64_t>(before));
    } else {
      parts.map_addresses.push_back(image.Reserve(bytes));
    }
    Clear(map, config, {&*image.At(parts.map_addresses.back()), bytes});
  }
  const size_t activation_bytes = image.bytes().size();
  const CodeContext context{config, network, parts.map_addresses, &image};
  for (Layer& layer : network.layers) {
    const auto failed = [&](const Status& status) {
      if (status.code() == StatusCode::kUnimplemented) refusals->emplace(layer.anchor, MessageOf(status));
      return WithContext(fmt::format("layer '{}'", layer.info.name), status);
    };
    Step step;
    step.transfers = std::move(layer.transfers);
    step.host = std::move(layer.host);
    if (layer.matrix.has_value()) {
      auto code = GenerateBest(*layer.matrix, threads, context);
      if (!code.ok()) return failed(code.status());
      step.launch = std::move(code->launch);
      step.tiling = code->tiling;
      layer.info.schedule = Describe(code->tiling);
      layer.info.certificate = code->certificate;
      step.reads = {layer.matrix->input.map};
      if (layer.matrix->residual.has_value()) step.reads.push_back(layer.matrix->residual->map);
      step.writes = {layer.matrix->output};
    } else if (layer.vector.has_value()) {
      auto code = GenerateMeasured(*layer.vector, threads == 1 ? 1 : 2, context);
      if (!code.ok()) return failed(code.status());
      step.launch = std::move(code->launch);
      layer.info.certificate = code->certificate;
      for (const MapView& input : layer.vector->inputs) step.reads.push_back(input.map);
      step.writes = {layer.vector->output};
    }
    parts.kernels.push_back(std::move(layer.info));
    parts.steps.push_back(std::move(step));
  }
  parts.constant_bytes = std::ssize(image.bytes()) - static_cast<int64_t>(activation_bytes);
  parts.memory = image.bytes();
  parts.maps = std::move(network.maps);
  parts.slots = std::move(network.slots);
  parts.final_transfers = std::move(network.final_transfers);
  parts.inputs = std::move(network.inputs);
  parts.outputs = std::move(network.outputs);
  parts.plan = PlanOf(parts);
  return std::make_unique<VtaProgram>(std::move(parts));
}

}  // namespace kiln::vta
