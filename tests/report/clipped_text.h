// Finds text that leaves the picture that it is drawn in.
#ifndef TESTS_REPORT_CLIPPED_TEXT_H_
#define TESTS_REPORT_CLIPPED_TEXT_H_

#include <regex>
#include <string>
#include <vector>

#include "kiln/report/text.h"

namespace kiln {

// Returns the texts in the SVG pictures of a page that begin or end outside of their picture's
// width, at 8 units a character: the mean of wide capitals at 12 pixels. Rotated text is left out.
inline std::vector<std::string> ClippedTexts(const std::string& page) {
  constexpr double kCharacter = 8;
  std::vector<std::string> clipped;
  const std::regex text_tag(R"re(<text ([^>]*)>(?:<title>[^<]*</title>)?([^<]*)</text>)re");
  const std::regex x_of(R"re(\bx="([-0-9.]+)")re"), anchor_of(R"re(text-anchor="(\w+)")re");
  for (size_t at = page.find("<svg viewBox=\"0 0 "); at != std::string::npos;
       at = page.find("<svg viewBox=\"0 0 ", at + 1)) {
    const double width = std::stod(page.substr(at + 18));
    const std::string picture = page.substr(at, page.find("</svg>", at) - at);
    for (std::sregex_iterator match(picture.begin(), picture.end(), text_tag), end; match != end;
         ++match) {
      const std::string attributes = (*match)[1], shown = (*match)[2];
      std::smatch x, anchor;
      if (attributes.find("transform=") != std::string::npos) continue;
      if (!std::regex_search(attributes, x, x_of)) continue;
      const std::string side =
          std::regex_search(attributes, anchor, anchor_of) ? anchor[1].str() : "start";
      const double length = kCharacter * static_cast<double>(Width(shown));
      const double begin = std::stod(x[1]) - (side == "end"      ? length
                                              : side == "middle" ? length / 2
                                                                 : 0);
      if (begin < 0 || begin + length > width) clipped.push_back(shown);
    }
  }
  return clipped;
}

}  // namespace kiln

#endif  // TESTS_REPORT_CLIPPED_TEXT_H_
