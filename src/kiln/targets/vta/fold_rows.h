// Networks whose layers all work pixel by pixel, on a machine with several rows in an element: rows become pixels of
// one image (rows of a matrix, tokens) instead of images, so that one image alone fills the machine.
#ifndef KILN_TARGETS_VTA_FOLD_ROWS_H_
#define KILN_TARGETS_VTA_FOLD_ROWS_H_

#include "kiln/targets/vta/config.h"
#include "kiln/targets/vta/layers.h"

namespace kiln::vta {

// Sets images_at_once. Folds where every layer on the machine reads and writes whole maps pixel by pixel, and where the
// steps of an image grow by a tenth at most over those it has as one of several images (the last element of a map may
// be filled in part).
void FoldRows(Network* network, const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_FOLD_ROWS_H_
