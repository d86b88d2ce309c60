// Fuzz target: passes any text to the readers of what `kiln cgra train` and the program that trains
// tell each other. They must reject it with one line, or it must survive a round trip.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/one_line.h"
#include "kiln/support/check.h"
#include "kiln/targets/cgra/learn/protocol.h"

using namespace kiln::cgra;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size >= kFrameHeader) {
    const auto length = FrameLength(text.substr(0, kFrameHeader));
    if (!length.ok()) kiln::CheckOneLine(length.status());
  }
  if (const auto request = ParseTrainRequest(text); request.ok()) {
    const std::string printed = PrintTrainRequest(request->options, request->state_every);
    const auto again = ParseTrainRequest(printed);
    KILN_CHECK(again.ok() && PrintTrainRequest(again->options, again->state_every) == printed);
  } else {
    kiln::CheckOneLine(request.status());
  }
  if (const auto point = ParsePoint(text); point.ok()) {
    const auto again = ParsePoint(PrintPoint(*point));
    KILN_CHECK(again.ok() && PrintPoint(*again) == PrintPoint(*point));
  } else {
    kiln::CheckOneLine(point.status());
  }
  return 0;
}
