// Writes JSON as text.
#ifndef KILN_SUPPORT_JSON_TEXT_H_
#define KILN_SUPPORT_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace kiln {

// Returns the text of a JSON value with a newline at the end. A negative `indent` puts everything
// on one line. Invalid UTF-8 is replaced, because names come from files that users give.
inline std::string JsonText(const nlohmann::ordered_json& json, int indent = 2) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace kiln

#endif  // KILN_SUPPORT_JSON_TEXT_H_
