// Generates a whole network: places its maps in memory, searches tilings, generates one launch per
// layer, and plans the run. codegen_matrix.cc and codegen_vector.cc generate single layers.

#include "kiln/targets/vta/compile/codegen.h"

#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/vta/compile/tiling_search.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"

namespace kiln::vta {
namespace {

// Returns the cycles of a launch when it runs alone.
StatusOr<int64_t> CyclesOf(const Launch& launch, CycleTimer& timer) {
  KILN_ASSIGN_OR_RETURN(const auto cycles, timer.CyclesOf(launch.instructions, launch.address,
                                                          {launch.uops_address, launch.uops}, 0));
  return static_cast<int64_t>(*cycles);
}

// Generates the code of layers, one after the other, in one memory image.
class LayerCoder {
 public:
  LayerCoder(const CodeContext& context, int threads, const TilingMemo& tilings)
      : context_(context), threads_(threads), tilings_(tilings), timer_(context.config) {}

  // Fills in the layer's launch and certificate. Errors: Unimplemented if the layer does not fit in
  // the buffers.
  Status Code(const MatrixLayer& layer, Step* step, KernelInfo* info) {
    KILN_ASSIGN_OR_RETURN(const MatrixTiling tiling, tilings_.TilingOf(layer, threads_, context_));
    KILN_ASSIGN_OR_RETURN(step->launch, GenerateMatrix(layer, tiling, context_));
    KILN_ASSIGN_OR_RETURN(const int64_t cycles, CyclesOf(*step->launch, timer_));
    step->tiling = tiling;
    info->schedule = Describe(tiling);
    info->certificate = CertificateOf(ShapeOf(layer, context_.network), context_.config, cycles);
    step->reads = {layer.input.map};
    if (layer.residual.has_value()) step->reads.push_back(layer.residual->map);
    step->writes = {layer.output};
    return OkStatus();
  }
  Status Code(const VectorLayer& layer, Step* step, KernelInfo* info) {
    KILN_ASSIGN_OR_RETURN(step->launch, GenerateVector(layer, threads_ == 1 ? 1 : 2, context_));
    KILN_ASSIGN_OR_RETURN(const int64_t cycles, CyclesOf(*step->launch, timer_));
    info->certificate = CertificateOf(layer, context_, cycles);
    for (const MapView& input : layer.inputs) step->reads.push_back(input.map);
    step->writes = {layer.output};
    return OkStatus();
  }

 private:
  const CodeContext& context_;
  const int threads_;
  const TilingMemo& tilings_;
  CycleTimer timer_;
};

// A rough model of the host: operations per microsecond, and microseconds before an operator
// begins.
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

StatusOr<std::unique_ptr<VtaProgram>> Generate(Network network, const Config& config, int threads,
                                               TilingMemo* tilings, Refusals* refusals) {
  ProgramParts parts;
  parts.config = config;
  parts.images_at_once = network.images_at_once;
  MemoryImage image;
  // Every piece begins a page. A small kernel has four pieces: weights, addends, micro-ops and
  // instructions.
  constexpr uint64_t kPage = DeviceMemory::kPageBytes;
  uint64_t room = 0;
  for (const FeatureMap& map : network.maps) {
    if (!map.inside.has_value()) room += AlignUp(static_cast<uint64_t>(map.bytes(config)), kPage);
  }
  for (const Layer& layer : network.layers) {
    const uint64_t weights = layer.matrix.has_value() ? layer.matrix->weights.size() : 0;
    room += AlignUp(weights, kPage) + 3 * kPage;
  }
  // Instructions and micro-ops are unknown yet. Room that remains unused takes only address space.
  image.MakeRoom(room + room / 4);
  for (const FeatureMap& map : network.maps) {
    const auto bytes = static_cast<uint64_t>(map.bytes(config));
    if (map.inside.has_value()) {
      const auto other = static_cast<size_t>(map.inside->map);
      const int64_t before =
          map.inside->first_block * map.rows() * map.pitch() * config.output_element_bytes();
      KILN_CHECK(map.rows() == network.maps[other].rows() &&
                 map.pitch() == network.maps[other].pitch());
      parts.map_addresses.push_back(parts.map_addresses[other] + static_cast<uint64_t>(before));
    } else {
      parts.map_addresses.push_back(image.Reserve(bytes));
    }
    Clear(map, config, {&*image.At(parts.map_addresses.back()), bytes});
  }
  const size_t activation_bytes = image.bytes().size();
  const CodeContext context{config, network, parts.map_addresses, &image};
  std::vector<const MatrixLayer*> matrices;
  for (const Layer& layer : network.layers) {
    if (layer.matrix.has_value()) matrices.push_back(&*layer.matrix);
  }
  KILN_RETURN_IF_ERROR(tilings->Search(matrices, threads, context));
  LayerCoder coder(context, threads, *tilings);
  for (Layer& layer : network.layers) {
    Step step;
    step.transfers = std::move(layer.transfers);
    step.host = std::move(layer.host);
    Status status;
    if (layer.matrix.has_value()) status = coder.Code(*layer.matrix, &step, &layer.info);
    if (layer.vector.has_value()) status = coder.Code(*layer.vector, &step, &layer.info);
    if (!status.ok()) {
      if (IsRefusal(status)) refusals->emplace(layer.anchor, MessageOf(status));
      return WithContext(fmt::format("layer '{}'", layer.info.name), status);
    }
    parts.kernels.push_back(std::move(layer.info));
    parts.steps.push_back(std::move(step));
  }
  parts.constant_bytes = std::ssize(image.bytes()) - static_cast<int64_t>(activation_bytes);
  parts.memory = image.TakeBytes();
  parts.maps = std::move(network.maps);
  parts.slots = std::move(network.slots);
  parts.final_transfers = std::move(network.final_transfers);
  parts.inputs = std::move(network.inputs);
  parts.outputs = std::move(network.outputs);
  parts.plan = PlanOf(parts);
  return std::make_unique<VtaProgram>(std::move(parts));
}

}  // namespace kiln::vta
