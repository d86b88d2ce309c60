// Which classes a network confuses, as text, JSON and HTML with a picture. Private to the room: the
// reports of `kiln run` and `kiln accuracy` contain these parts.
#ifndef KILN_REPORT_CONFUSION_TABLE_H_
#define KILN_REPORT_CONFUSION_TABLE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kiln/quantise/scores.h"

namespace kiln {

// Returns a table of the most frequent confusions: label, the class that it is taken for, how
// often, and the share of the label's places. A line says so if there are none.
std::string ConfusionText(const Confusion& confusion);

// Returns an array of objects with `label`, `answer` and `count`, by label and answer; correct
// answers are included. `answer` is null if all scores were NaN.
nlohmann::ordered_json ConfusionJson(const Confusion& confusion);

// Returns a heat map of labels against answers as SVG, for up to 40 classes, and the table of the
// most frequent confusions.
std::string ConfusionHtml(const Confusion& confusion);

}  // namespace kiln

#endif  // KILN_REPORT_CONFUSION_TABLE_H_
