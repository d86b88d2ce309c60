// The readers behind LoadDataSet, one function a row of data_formats.def. Private to the frontend.
#ifndef KILN_FRONTEND_DATA_READERS_H_
#define KILN_FRONTEND_DATA_READERS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_set.h"

namespace kiln::data {

// The bytes of a file after gzip, if any, is off.
struct Source {
  std::string name;  // as the user named it, for messages
  std::shared_ptr<const std::string> bytes;
  std::string_view view() const { return *bytes; }
};

#define KILN_DATA_FORMAT(id, name, what) StatusOr<DataSet::Parts> Read##id(const Source& source, const DataOptions&);
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT

// An array of any rank with its element bytes in this machine's order, row-major; bytes start at `offset`.
struct Array {
  ElementType element = ElementType::kUint8;
  Shape shape;
  std::shared_ptr<const std::string> bytes;
  int64_t offset = 0;
};
StatusOr<Array> ReadIdxArray(const Source& source);
StatusOr<Array> ReadNpyArray(const Source& source);

// First axis = image. Error: a scalar, or no elements.
StatusOr<DataSet::Parts> PartsOf(const Source& source, Array array);
// A 1-D array of integers as labels. Errors: another rank or type, a negative label.
StatusOr<std::vector<int32_t>> LabelsOf(const Source& source, const Array& array);

// Turns elements of `element_bytes` bytes around, in place.
void SwapBytes(char* bytes, int64_t count, int element_bytes);

bool IsGzip(std::string_view bytes);
// Unpacks gzip, several members in a row included. Errors: damaged, cut off, or more than `max_bytes` in the end.
StatusOr<std::string> Gunzip(std::string_view bytes, std::string_view source, uint64_t max_bytes);

}  // namespace kiln::data

#endif  // KILN_FRONTEND_DATA_READERS_H_
