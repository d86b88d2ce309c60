// Fuzz target: parses any bytes as a recipe. The result must be a recipe with consistent settings,
// or a one-line error that names the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kiln/quantise/recipe.h"
#include "kiln/support/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto recipe = kiln::ParseRecipe({reinterpret_cast<const char*>(bytes), size}, "fuzz.yaml");
  if (!recipe.ok()) {
    const std::string message = kiln::MessageOf(recipe.status());
    KILN_CHECK(message.rfind("fuzz.yaml: ", 0) == 0 && message.find('\n') == std::string::npos);
    return 0;
  }
  KILN_CHECK(recipe->calibration_images >= 1);
  for (const kiln::TensorRecipe& tensor : {recipe->activations, recipe->weights}) {
    KILN_CHECK((tensor.type.symmetric || tensor.type.format.is_whole()) &&
               tensor.percentile >= 50 && tensor.percentile <= 100);
  }
  for (const kiln::LayerRecipe& layer : recipe->layers) {
    KILN_CHECK(!layer.match.empty() || layer.op || layer.position);
    KILN_CHECK(layer.keep_float != (layer.activations || layer.inputs || layer.weights));
  }
  return 0;
}
