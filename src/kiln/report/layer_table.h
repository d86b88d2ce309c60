// The error of a quantised network by layer, as text, JSON and HTML with a picture. Private to the
// room: the reports of `kiln accuracy --by-layer` contain these parts. quantise/layer_errors.h
// defines the figures.
#ifndef KILN_REPORT_LAYER_TABLE_H_
#define KILN_REPORT_LAYER_TABLE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "kiln/quantise/layer_errors.h"

namespace kiln {

// Returns a table with one line per value; `format` is the name of the format in the heading.
std::string LayersText(const LayerErrors& errors, std::string_view format);

// Returns an object with `images`, `all` and `layers` (docs/accuracy.md). An SQNR is null if the
// value is exact or has no signal.
nlohmann::ordered_json LayersJson(const LayerErrors& errors);

// Returns a section of a page: a picture with one row per value, and the table.
std::string LayersHtml(const LayerErrors& errors, std::string_view format);

}  // namespace kiln

#endif  // KILN_REPORT_LAYER_TABLE_H_
