#include "network/rules/one_operator.hpp"

namespace plimsoll::network::testing {
namespace {

TEST(Convolution, CountsTheWindowsPositions) {
  check(std::to_array<OneOperator>({
      {"Conv", "1x3x224x224 64x3x7x7", "strides=[2,2] pads=[3,3,3,3]", "1x64x112x112"},
      {"Conv", "1x3x8x8 4x3x3x3 4", "", "1x4x6x6"},
      {"Conv", "2x4x9 8x2x3", "group=2 dilations=[2]", "2x8x5"},
      {"Conv", "1x2x5x6x7 4x2x1x2x3", "kernel_shape=[1,2,3]", "1x4x5x5x5"},
      {"Conv", "1x3x7x7 4x3x3x3", "auto_pad=SAME_UPPER strides=[2,2]", "1x4x4x4"},
      {"Conv", "1x3x7x7 4x3x3x3", "auto_pad=SAME_LOWER strides=[3,3]", "1x4x3x3"},
      {"Conv", "1x3x7x7 4x3x3x3", "auto_pad=VALID pads=[9,9,9,9]", "1x4x5x5"},
      {"Conv", "0x3x8x8 4x3x3x3", "", "0x4x6x6"},
      {"Conv", "1x3x8x8:float16 4x3x3x3:float16", "", "float16 1x4x6x6"},
      {"DeformConv@19", "1x3x8x8 4x3x3x3 1x18x6x6", "", "1x4x6x6"},
  }));
}

TEST(Convolution, CarriesSymbolsAndUnknownRanks) {
  check(std::to_array<OneOperator>({
      {"Conv", "nx3xhxw 4x3x3x3", "pads=[1,1,1,1]", "nx4xhxw"},
      {"Conv", "nx3xhxw 4x3x3x3", "strides=[2,2] pads=[1,1,1,1]", "nx4xh + 1/2xw + 1/2"},
      {"Conv", "nx3xhxw 4x3xkx3", "kernel_shape=[3,3]", "nx4xh - 2xw - 2"},
      {"Conv", "nx3xhxw 4x3xkx3", "strides=[2,1]", "nx4xh - k - 1 + 1/2 + 1xw - 2"},
      {"MaxPool", "nx3xh", "kernel_shape=[2] strides=[2]", "nx3xh/2"},
      {"MaxPool", "nx3xh", "kernel_shape=[2] strides=[2] ceil_mode=1", "nx3xceil(h/2)"},
      {"Conv", "nx3xhxw 4x3x3x3", "auto_pad=SAME_UPPER", "nx4xhxw"},
      {"Conv", "? ?", "", "?"},
      {"Conv", "? 4x3x1x1", "auto_pad=SAME_UPPER", "Conv_1.the inputx4xConv_3.the inputxConv_4.the input"},
      {"MaxPool", "?", "kernel_shape=[2]", "MaxPool_1.the inputxMaxPool_2.the inputxMaxPool_3.the input - 1"},
  }));
}

TEST(Convolution, RefusesWhatCannotRun) {
  check(std::to_array<OneOperator>({
      {"Conv", "1x3x8x8 4x2x3x3", "",
       "error: the input 1x3x8x8 has 3 channels; the weights 4x2x3x3 want 2 in each of 1 groups"},
      {"Conv", "1x4x8x8 5x2x3x3", "group=2", "error: 5 output channels cannot be divided into 2 groups"},
      {"Conv", "1x3x2x2 4x3x3x3", "", "error: the window reaches over 3, more than the extent 2 padded to 2"},
      {"Conv", "1x3x8x8 4x3x3x3", "strides=[0,1]", "error: strides has a 0; all must be positive"},
      {"Conv", "1x3x8x8 4x3x3x3", "dilations=[-1,1]", "error: dilations has a -1"},
      {"Conv", "1x3x8x8 4x3x3x3", "group=0", "error: group is 0; it must be positive"},
      {"Conv", "1x3x8x8 4x3x3x3", "strides=[1]", "error: strides has 1 values; 2 are needed"},
      {"Conv", "1x3x8x8 4x3x3x3", "kernel_shape=[5,5]", "error: kernel_shape says 5, the weights have 3"},
      {"Conv", "1x3x8x8 4x3x3x3", "auto_pad=ODD", "error: auto_pad is 'ODD'"},
      {"Conv", "3x8 4x3x3", "", "error: at least one spatial extent"},
      {"Conv", "1x3x8x8 4x3x3x3", "pads=[9223372036854775807,0,9223372036854775807,0]",
       "error: cannot be padded"},
      {"Conv", "1x3x8x8 4x3x3x3", "dilations=[9223372036854775807,1]", "error: reaches beyond 2^63"},
      {"Conv", "1x3x8x8 4x3x3x3", "group=9223372036854775807", "error: channels"},
      {"ConvTranspose", "1x3x8x8 3x4x3x3", "strides=[9223372036854775807,1]",
       "error: cannot lose the padding"},
      {"ConvTranspose", "1x3x1x1 3x4x3x3", "pads=[2,2,2,2]", "error: cannot lose the padding 2 and 2"},
      {"ConvTranspose", "1x3x8x8 4x4x3x3", "",
       "error: the input 1x3x8x8 has 3 channels; the weights 4x4x3x3 want 4"},
      {"MaxPool", "1x3x8x8", "", "error: kernel_shape is missing"},
      {"MaxPool", "1x3x8x8", "kernel_shape=[0,1]", "error: kernel_shape has a 0"},
  }));
}

TEST(Convolution, Transposes) {
  check(std::to_array<OneOperator>({
      {"ConvTranspose", "1x1x3x3 1x2x3x3", "", "1x2x5x5"},
      {"ConvTranspose", "1x4x3x3 4x2x3x3", "strides=[3,2] output_padding=[1,1] group=2", "1x4x10x8"},
      {"ConvTranspose", "1x1x3x3 1x2x3x3", "strides=[3,2] output_shape=[10,8]", "1x2x10x8"},
      {"ConvTranspose", "1x1x3x3 1x2x3x3", "strides=[3,2] output_shape=[1,2,10,8]", "1x2x10x8"},
      {"ConvTranspose", "1x1x3x3 1x2x3x3", "auto_pad=SAME_UPPER strides=[2,2]", "1x2x6x6"},
      {"ConvTranspose", "1x1x3x3 1x2x3x3", "strides=[3,2] pads=[1,2,1,2]", "1x2x7x3"},
      {"ConvTranspose", "1x1x3x3 1x1x2x2", "dilations=[2,2]", "1x1x5x5"},
      {"ConvTranspose", "1x1xnx3 1x1x2x2", "strides=[2,2]", "1x1xn*2x6"},
      {"com.microsoft:ConvTransposeWithDynamicPads@1", "1x1x3x3 1x2x3x3 =1,1,1,1", "", "1x2x3x3"},
      {"com.microsoft:ConvTransposeWithDynamicPads@1", "1x1x3x3 1x2x3x3 4:int64", "",
       "1x2xConvTransposeWithDynamicPads_1.extent(<=5)xConvTransposeWithDynamicPads_2.extent(<=5)"},
  }));
}

TEST(Pooling, RoundsAsPyTorchDoes) {
  check(std::to_array<OneOperator>({
      {"MaxPool", "1x3x32x32", "kernel_shape=[2,2]", "1x3x31x31; int64 1x3x31x31"},
      {"MaxPool", "1x1x4x4", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "1x1x2x2"},
      // The third window would start at 4, beyond 1 + 3: dropped.
      {"MaxPool", "1x1x3x3", "kernel_shape=[2,2] strides=[2,2] pads=[1,1,1,1] ceil_mode=1", "1x1x2x2"},
      {"MaxPool", "1x1x5x5", "kernel_shape=[1,1] strides=[2,2] ceil_mode=1", "1x1x3x3"},
      {"MaxPool", "1x1x6x6", "kernel_shape=[1,1] strides=[2,2] ceil_mode=1", "1x1x3x3"},
      {"MaxPool", "1x1x4x4", "kernel_shape=[2,2] dilations=[2,2]", "1x1x2x2"},
      {"AveragePool@19", "1x3x7x7", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1", "1x3x3x3"},
      {"AveragePool", "1x3x32x32", "kernel_shape=[2,2] auto_pad=SAME_UPPER", "1x3x32x32"},
      {"LpPool", "1x3x8", "kernel_shape=[2] strides=[2]", "1x3x4"},
      {"GlobalAveragePool", "2x3x5x6", "", "2x3x1x1"},
      {"GlobalMaxPool", "nx3xaxbxc", "", "nx3x1x1x1"},
      {"MaxUnpool", "1x1x2x2 1x1x2x2:int64", "kernel_shape=[2,2] strides=[2,2]", "1x1x4x4"},
      {"MaxUnpool", "1x1x2x2 1x1x2x2:int64 =1,1,5,5", "kernel_shape=[2,2] strides=[2,2]", "1x1x5x5"},
      {"com.microsoft:NhwcMaxPool@1", "1x8x8x3:uint8", "kernel_shape=[2,2] strides=[2,2]", "uint8 1x4x4x3"},
      {"com.microsoft:NhwcConv@1", "1x8x8x3 4x3x3x3", "", "1x6x6x4"},
      {"com.microsoft:NhwcConv@1", "1x8x8x5 4x3x3x5", "", "1x6x6x4"},
      {"com.microsoft:QLinearGlobalAveragePool@1", "1x8x8x3:uint8 scalar scalar:uint8 scalar scalar:uint8",
       "channels_last=1", "uint8 1x1x1x3"},
  }));
}

}  // namespace
}  // namespace plimsoll::network::testing
