#include "kiln/targets/vta/codegen.h"

#include "fmt/format.h"

namespace kiln::vta {
namespace {

struct MatrixCode {
  Launch launch;
  MatrixTiling tiling;
  Certificate certificate;
};

// The best tiling whose micro-ops fit.
StatusOr<MatrixCode> GenerateBest(const MatrixLayer& layer, int threads, const CodeContext& context) {
  const MatrixShape shape = ShapeOf(layer, context.network, context.config);
  Status reason = absl::UnimplementedError("one output row needs more than the buffers hold");
  for (const RankedTiling& ranked : RankTilings(shape, context.config, threads)) {
    MemoryImage image = *context.image;
    const CodeContext trial{context.config, context.network, context.map_addresses, &image};
    auto launch = GenerateMatrix(layer, ranked.tiling, trial);
    if (launch.ok()) {
      *context.image = std::move(image);
      return MatrixCode{*std::move(launch), ranked.tiling, CertificateOf(shape, context.config, ranked.cycles)};
    }
    if (launch.status().code() != StatusCode::kUnimplemented) return launch.status();
    reason = launch.status();
  }
  return reason;
}

}  // namespace

StatusOr<std::unique_ptr<VtaProgram>> Generate(Network network, const Config& config, int threads) {
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
    Step step;
    step.transfers = std::move(layer.transfers);
    step.host = std::move(layer.host);
    if (layer.matrix.has_value()) {
      auto code = GenerateBest(*layer.matrix, threads, context);
      if (!code.ok()) return WithContext(fmt::format("layer '{}'", layer.info.name), code.status());
      step.launch = std::move(code->launch);
      step.tiling = code->tiling;
      layer.info.certificate = code->certificate;
    } else if (layer.vector.has_value()) {
      auto launch = GenerateVector(*layer.vector, threads == 1 ? 1 : 2, context);
      if (!launch.ok()) return WithContext(fmt::format("layer '{}'", layer.info.name), launch.status());
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
