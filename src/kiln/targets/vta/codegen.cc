#include "kiln/targets/vta/codegen.h"

#include "fmt/format.h"
#include "kiln/targets/vta/cycle.h"

namespace kiln::vta {
namespace {

struct MatrixCode {
  Launch launch;
  MatrixTiling tiling;
  Certificate certificate;
};

constexpr int kMeasured = 4;  // tilings that are run at the cycle level

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

// Of the best tilings whose micro-ops fit, the one that takes the fewest cycles.
StatusOr<MatrixCode> GenerateWith(const MatrixLayer& layer, int threads, const CodeContext& context) {
  const MatrixShape shape = ShapeOf(layer, context.network, context.config);
  Status reason = absl::UnimplementedError("the input of one output needs more than the buffers hold");
  std::optional<MatrixCode> best;
  MemoryImage image_of_best;
  int measured = 0;
  for (const RankedTiling& ranked : RankTilings(shape, context.config, threads)) {
    MemoryImage image = *context.image;
    const CodeContext trial{context.config, context.network, context.map_addresses, &image};
    auto launch = GenerateMatrix(layer, ranked.tiling, trial);
    if (launch.status().code() == StatusCode::kUnimplemented) {
      reason = launch.status();
      continue;
    }
    KILN_RETURN_IF_ERROR(launch.status());
    KILN_ASSIGN_OR_RETURN(const int64_t cycles, CyclesOf(*launch, image, context.config));
    if (!best.has_value() || static_cast<double>(cycles) < best->certificate.cost) {
      best = MatrixCode{*std::move(launch), ranked.tiling, CertificateOf(shape, context.config, cycles)};
      image_of_best = std::move(image);
    }
    if (++measured == kMeasured) break;
  }
  if (!best.has_value()) return reason;
  *context.image = std::move(image_of_best);
  return *std::move(best);
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

}  // namespace

StatusOr<std::unique_ptr<VtaProgram>> Generate(Network network, const Config& config, int threads, Refusals* refusals) {
  ProgramParts parts;
  parts.config = config;
  MemoryImage image;
  for (const FeatureMap& map : network.maps) {
    const auto bytes = static_cast<uint64_t>(map.bytes(config));
    parts.map_addresses.push_back(image.Reserve(bytes));
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
      layer.info.certificate = code->certificate;
    } else if (layer.vector.has_value()) {
      auto launch = GenerateVector(*layer.vector, threads == 1 ? 1 : 2, context);
      if (!launch.ok()) return failed(launch.status());
      step.launch = *std::move(launch);
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
  return std::make_unique<VtaProgram>(std::move(parts));
}

}  // namespace kiln::vta
