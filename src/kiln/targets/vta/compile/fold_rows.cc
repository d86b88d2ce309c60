// Decides whether the rows of a machine's batch become pixels of one image, and rewrites the maps
// and views of the network accordingly.

#include "kiln/targets/vta/compile/fold_rows.h"

#include <algorithm>

#include "kiln/support/integer.h"

namespace kiln::vta {
namespace {

bool IsPlain(const FeatureMap& map) {
  const Border& b = map.border;
  return b.top + b.left + b.bottom + b.right == 0 && !map.inside.has_value();
}

// Returns whether a view covers all of its map, with as many pixels as the layer's output.
bool IsWhole(const MapView& view, const FeatureMap& map, const FeatureMap& output) {
  return view.y0 == 0 && view.x0 == 0 && view.y_step == 1 && view.x_step == 1 &&
         view.height == map.height && view.width == map.width &&
         map.height * map.width == output.height * output.width;
}

bool IsPixelByPixel(const Layer& layer, const Network& network) {
  const auto map = [&](int index) -> const FeatureMap& {
    return network.maps[static_cast<size_t>(index)];
  };
  if (layer.matrix.has_value()) {
    const MatrixLayer& matrix = *layer.matrix;
    const KernelSize& k = matrix.kernel;
    const FeatureMap& output = map(matrix.output);
    if (k.taps() != 1 || k.stride_y != 1 || k.stride_x != 1 || k.top != 0 || k.left != 0)
      return false;
    if (matrix.residual.has_value() &&
        !IsWhole(*matrix.residual, map(matrix.residual->map), output))
      return false;
    return IsWhole(matrix.input, map(matrix.input.map), output);
  }
  if (layer.vector.has_value()) {
    const VectorLayer& vector = *layer.vector;
    const auto whole = [&](const MapView& view) {
      return IsWhole(view, map(view.map), map(vector.output));
    };
    const auto alike = [](const ConstantOperand& constant) {
      return constant.height * constant.width == 1;
    };
    return !vector.window.has_value() &&
           std::all_of(vector.inputs.begin(), vector.inputs.end(), whole) &&
           std::all_of(vector.constants.begin(), vector.constants.end(), alike);
  }
  return true;
}

// Returns whether one image alone takes at most 1.1 times the steps of its share of several images.
bool IsWorthIt(const Network& network, const Config& config) {
  int64_t steps = 0, folded = 0;
  for (const Layer& layer : network.layers) {
    if (layer.host.has_value()) continue;
    const int index = layer.matrix.has_value() ? layer.matrix->output : layer.vector->output;
    const FeatureMap& output = network.maps[static_cast<size_t>(index)];
    const int64_t pixels = output.height * output.width;
    const int64_t of_pixel =
        layer.matrix.has_value() ? layer.matrix->steps() : output.Blocks(config);
    steps += of_pixel * pixels;
    folded += of_pixel * CeilDivide(pixels, int64_t{config.batch});
  }
  return 10 * folded * config.batch <= 11 * steps;
}

void Fold(FeatureMap* map, const Config& config) {
  map->image = FeatureMap::Size{map->height, map->width};
  map->width = CeilDivide(map->height * map->width, int64_t{config.batch});
  map->height = 1;
}

void Follow(MapView* view, const Network& network) {
  const FeatureMap& map = network.maps[static_cast<size_t>(view->map)];
  view->height = map.height;
  view->width = map.width;
}

}  // namespace

void FoldRows(Network* network, const Config& config) {
  network->images_at_once = config.batch;
  if (config.batch == 1) return;
  const auto pixel_by_pixel = [&](const Layer& layer) { return IsPixelByPixel(layer, *network); };
  if (!std::all_of(network->maps.begin(), network->maps.end(), IsPlain) ||
      !std::all_of(network->layers.begin(), network->layers.end(), pixel_by_pixel) ||
      !IsWorthIt(*network, config)) {
    return;
  }
  network->images_at_once = 1;
  for (FeatureMap& map : network->maps) Fold(&map, config);
  for (Layer& layer : network->layers) {
    if (layer.matrix.has_value()) {
      Follow(&layer.matrix->input, *network);
      if (layer.matrix->residual.has_value()) Follow(&*layer.matrix->residual, *network);
    }
    if (layer.vector.has_value()) {
      for (MapView& view : layer.vector->inputs) Follow(&view, *network);
    }
  }
}

}  // namespace kiln::vta
