// Prepares the tables of a design point's formats.
#include "kiln/targets/systolic/simulate/numbers.h"

#include <string>

#include "kiln/numerics/function_unit.h"
#include "kiln/support/check.h"

namespace kiln::systolic {

Numbers::Numbers(const Config& config) : config_(&config) {
  if (config.narrow_vector()) vector_ = FormatTable::Of(config.vector_format);
  for (int i = static_cast<int>(Element::kFloat32); HasElement(config, static_cast<Element>(i));
       ++i) {
    tables_[static_cast<size_t>(i)] = FormatTable::Of(FormatOf(static_cast<Element>(i), config));
  }
  if (IsShortFloat(config.vector_format)) {
    factor_format_ = FactorFormat(config);
    factor_ = FormatTable::Of(factor_format_);
  } else {
    auto splines = SplineTablesFor(config.vector_format);
    // The design point has been parsed, so its vector format is a float with a zero.
    KILN_CHECK(splines.ok());
    splines_ = *splines;
  }
  if (config.block_size > 0) {
    blocks_ = std::make_shared<const BlockCodec>(config.input_format, config.scale_format,
                                                 config.block_size);
  }
}

float Numbers::Apply(NonlinearFunction function, float v) const {
  return Round(splines_ == nullptr ? ApproximateFixed(function, v)
                                   : Approximate(*splines_, function, v));
}

void Numbers::Apply(NonlinearFunction function, std::span<float> values) const {
  if (splines_ == nullptr) {
    for (float& v : values) v = ApproximateFixed(function, v);
  } else {
    Approximate(*splines_, function, values);
  }
  Round(values.data(), std::ssize(values));
}

}  // namespace kiln::systolic
