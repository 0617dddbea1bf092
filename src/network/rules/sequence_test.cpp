#include "network/rules/one_operator.hpp"

// Normalisation, recurrence, attention, quantization, signals and fused operators.
namespace plimsoll::network::testing {
namespace {

TEST(Normalization, KeepsShapesAndGivesStatistics) {
  check(std::to_array<OneOperator>({
      {"BatchNormalization", "2x3x4x5 3 3 3 3", "", "2x3x4x5"},
      {"BatchNormalization@15", "2x3x4x5:float16 3 3 3 3", "training_mode=1", "float16 2x3x4x5; 3; 3"},
      {"BatchNormalization@9", "2x3x4x5 3 3 3 3", "", "2x3x4x5; 3; 3; 3; 3"},
      {"BatchNormalization", "2x3x4x5 4 4 4 4", "", "error: has 3 channels; input 1 has the shape 4"},
      {"InstanceNormalization", "2x3x4x5 3 3", "", "2x3x4x5"},
      {"LayerNormalization", "2x3x4 4 4", "", "2x3x4; 2x3x1; 2x3x1"},
      {"LayerNormalization", "2x3x4:float16 3x4:float16", "axis=1", "float16 2x3x4; 2x1x1; 2x1x1"},
      {"LayerNormalization", "2x3x4 4", "axis=3", "error: axis 3"},
      {"GroupNormalization@21", "2x6x4x4 6 6", "num_groups=3", "2x6x4x4"},
      {"GroupNormalization@21", "2x6x4x4 6 6", "num_groups=4",
       "error: 6 channels cannot be divided into 4 groups"},
      {"RMSNormalization@23", "2x3x4 4", "", "2x3x4"},
      {"Softmax", "2x3", "axis=2", "error: axis 2"},
      {"Softmax@11", "2x3", "axis=2", "2x3"},
      {"Dropout", "2x3", "", "2x3; bool 2x3"},
      {"Dropout@7", "2x3", "", "2x3; 2x3"},
      {"SoftmaxCrossEntropyLoss", "2x5x7 2x7:int64", "reduction=none", "2x7; 2x5x7"},
      {"SoftmaxCrossEntropyLoss", "2x5 2:int64", "", "scalar; 2x5"},
      {"NegativeLogLikelihoodLoss", "2x5x7 2x7:int64 5", "reduction=sum", "scalar"},
      {"NegativeLogLikelihoodLoss", "2x5x7 2x6:int64", "", "error: scores 2x5x7 do not fit labels 2x6"},
      {"NegativeLogLikelihoodLoss", "? 2x6:int64", "reduction=none", "2x6"},
  }));
}

TEST(Recurrent, GivesAllStepsAndTheLast) {
  check(std::to_array<OneOperator>({
      {"LSTM", "7x2x3 1x20x3 1x20x5", "hidden_size=5", "7x1x2x5; 1x2x5; 1x2x5"},
      {"GRU", "7x2x3 2x15x3 2x15x5", "hidden_size=5 direction=bidirectional", "7x2x2x5; 2x2x5"},
      {"RNN", "2x7x3 1x5x3 1x5x5", "layout=1", "2x7x1x5; 2x1x5"},
      {"LSTM", "sxbx3 1x20x3 1x20x5", "", "sx1xbx5; 1xbx5; 1xbx5"},
      {"LSTM", "? 1x20x3 1x20x5", "", "LSTM_1.Xx1xLSTM_2.Xx5"},
      {"LSTM", "7x2x3 1x20x4 1x20x5", "", "error: X 7x2x3 has 3 features; W 1x20x4 wants 4"},
      {"LSTM", "7x2x3 1x15x3 1x20x5", "", "error: do not fit 1 direction(s), 4 gates and a hidden size of 5"},
      {"LSTM", "7x2x3 1x20x3 1x20x5", "hidden_size=0", "error: hidden_size is 0"},
      {"LSTM", "7x2x3 1x20x3 1x20x5", "direction=up", "error: direction is 'up'"},
      {"RNN", "7x2x3 1x5x3 1x5x5", "hidden_size=9223372036854775807", "error: hidden_size"},
  }));
}

TEST(Attention, GivesValuesAndStates) {
  check(std::to_array<OneOperator>({
      {"Attention@23", "2x3x4x8 2x3x6x8 2x3x6x10", "", "2x3x4x10; 2x3x6x8; 2x3x6x10; 2x3x4x6"},
      {"Attention@23", "2x4x24 2x6x24 2x6x30", "q_num_heads=3 kv_num_heads=3", "2x4x30"},
      {"Attention@23", "2x9x4x8 2x3x6x8 2x3x6x8 - 2x3x12x8 2x3x12x8", "",
       "2x9x4x8; 2x3x18x8; 2x3x18x8; 2x9x4x18"},
      {"Attention@23", "2x4x24 2x6x24 2x6x30", "q_num_heads=5 kv_num_heads=3",
       "error: Q has 24 features, which 5 heads cannot share"},
      {"Attention@23", "2x4x24 2x6x24 2x6x30", "", "error: q_num_heads is 0"},
      {"Attention@23", "? ? ?", "", "?"},
      {"RotaryEmbedding@23", "2x4x3x8 50x4 50x4 2x3:int64", "", "2x4x3x8"},
      {"com.microsoft:Attention@1", "2x7x12 12x36 36", "num_heads=4", "2x7x12; 2x2x4x7x3"},
      {"com.microsoft:Attention@1", "2x7x12 12x36 36 - 2x2x4x5x3", "num_heads=4", "2x7x12; 2x2x4x12x3"},
      {"com.microsoft:Attention@1", "2x7x12 12x40 40", "num_heads=4 qkv_hidden_sizes=[12,12,16]", "2x7x16"},
      {"com.microsoft:MultiHeadAttention@1", "2x7x12 2x9x12 2x9x16", "num_heads=4",
       "2x7x16; 2x4x9x3; 2x4x9x4"},
      {"com.microsoft:MultiHeadAttention@1", "2x7x4x3x5", "num_heads=4", "2x7x20"},
      {"com.microsoft:GroupQueryAttention@1", "2x1x32 2x1x16 2x1x16 2x2x9x8 2x2x9x8 2:int32 ==10",
       "num_heads=4 kv_num_heads=2", "2x1x32; 2x2x10x8; 2x2x10x8"},
      {"com.microsoft:GroupQueryAttention@1", "2x1x64 - - 2x2x9x8 2x2x9x8 2:int32 scalar:int32",
       "num_heads=4 kv_num_heads=2",
       "2x1x32; 2x2xGroupQueryAttention_1.length(<=10)x8; 2x2xGroupQueryAttention_1.length(<=10)x8"},
      {"com.microsoft:GroupQueryAttention@1", "2x1x64", "num_heads=9223372036854775807 kv_num_heads=2",
       "error: num_heads is 9223372036854775807"},
  }));
}

TEST(Experts, GiveRowsLikeTheirs) {
  check(std::to_array<OneOperator>({
      {"com.microsoft:MoE@1", "2x5x8 10x4 4x24x8 - 4x8x12", "k=2", "2x5x8"},
      {"com.microsoft:MoE@1", "10x8 10x4 4x8x12 - 4x12x8 - 4x8x12", "k=2", "10x8"},
      {"com.microsoft:MoE@1", "? ? ?", "k=2", "?"},
      {"com.microsoft:MoE@1", "2x5x8 10x4 4x24x8 - 4x8x12", "k=5", "error: 5 of 4 experts cannot be chosen"},
      {"com.microsoft:MoE@1", "2x5x8 10x4 4x24x8 - 4x8x12", "k=0", "error: k is 0"},
      {"com.microsoft:MoE@1", "2x5x8 10x4 3x24x8 - 4x8x12", "k=2",
       "error: input 2 has the weights of 3 experts; the router knows 4"},
      {"com.microsoft:MoE@1", "2x5x8 10x4 4x24x7 - 4x8x12", "k=2",
       "error: input 2 has the shape 4x24x7; none of it is the rows' width 8"},
      {"com.microsoft:MoE@1", "8 10x4 4x24x8 - 4x8x12", "k=2", "error: the rows have the shape 8"},
  }));
}

TEST(Quantization, TakesTypesFromZeroPointsAndScales) {
  check(std::to_array<OneOperator>({
      {"QuantizeLinear", "2x3 scalar", "", "uint8 2x3"},
      {"QuantizeLinear", "2x3 scalar scalar:int8", "", "int8 2x3"},
      {"QuantizeLinear@21", "2x3 scalar", "output_dtype=22", "int4 2x3"},
      {"QuantizeLinear@21", "2x3 scalar", "output_dtype=99",
       "error: output_dtype is 99, which is not an element type"},
      {"DequantizeLinear", "2x3:int8 scalar", "", "2x3"},
      {"DequantizeLinear@19", "2x3:int8 scalar:float16", "", "float16 2x3"},
      {"DynamicQuantizeLinear", "2x3", "", "uint8 2x3; scalar; uint8 scalar"},
      {"QLinearMatMul", "2x3:uint8 scalar scalar:uint8 3x4:uint8 scalar scalar:uint8 scalar scalar:int8", "",
       "int8 2x4"},
      {"QLinearConv", "1x3x8x8:uint8 scalar scalar:uint8 4x3x3x3:uint8 4 4:uint8 scalar scalar:uint8", "",
       "uint8 1x4x6x6"},
      {"ConvInteger", "1x3x8x8:uint8 4x3x3x3:uint8", "", "int32 1x4x6x6"},
      {"com.microsoft:QLinearAdd@1", "2x3:uint8 scalar - 3:uint8 scalar - scalar", "", "uint8 2x3"},
      {"com.microsoft:QLinearAdd@1", "2x3:uint8 scalar", "", "error: input 3 is missing"},
      {"com.microsoft:QGemm@1", "2x3:uint8 scalar scalar:uint8 3x4:uint8 scalar scalar:uint8", "", "2x4"},
      {"com.microsoft:QLinearConcat@1",
       "scalar scalar:uint8 2x3:uint8 scalar scalar:uint8 2x4:uint8 scalar scalar:uint8", "axis=1",
       "uint8 2x7"},
      {"com.microsoft:MatMulNBits@1", "nxsx64 128x2x16:uint8 256", "K=64 N=128 bits=4 block_size=32",
       "nxsx128"},
      {"com.microsoft:MatMulNBits@1", "2x63 128x2x16:uint8 256", "K=64 N=128",
       "error: the inner extents 63 and 64 differ"},
      {"com.microsoft:GatherBlockQuantized@1", "100x16:uint8 2x7:int64 100x1", "bits=4", "2x7x32"},
  }));
}

TEST(Signal, CountsFramesAndBins) {
  check(std::to_array<OneOperator>({
      {"DFT", "1x10x9x1", "axis=1", "1x10x9x2"},
      {"DFT", "1x10x9x1", "axis=1 onesided=1", "1x6x9x2"},
      {"DFT", "1x10x1 ==16", "onesided=1", "1x9x2"},
      {"DFT@20", "1x10x9x1 - ==1", "", "1x10x9x2"},
      {"DFT@20", "1x6x2", "inverse=1 onesided=1", "1x10x1"},
      {"DFT", "1x10x2", "axis=2", "error: axis 2 is the one of real and imaginary parts"},
      {"STFT", "1x128x1 ==8 16", "", "1x15x9x2"},
      {"STFT", "1x128x1 ==8 - ==16", "onesided=0", "1x15x16x2"},
      {"STFT", "1x128x1 ==0 16", "", "error: frame_step is 0"},
      {"STFT", "1x8x1 ==1 16", "", "error: a frame of 16 is longer than the signal of 8"},
      {"HannWindow", "==10", "", "10"},
      {"HannWindow", "scalar:int64", "output_datatype=11", "float64 HannWindow_1.size"},
      {"HannWindow", "==-1", "", "error: size is -1"},
      {"MelWeightMatrix", "==8 ==16 ==8192 scalar scalar", "", "9x8"},
      {"RandomNormal", "", "shape=[2,3]", "2x3"},
      {"RandomNormal", "", "shape=[2,-3]", "error: shape has a -3"},
      {"RandomNormal", "", "shape=[9223372036854775807,2]", "error: more than 2^63 elements"},
      {"RandomUniformLike", "2x3:int32", "dtype=1", "2x3"},
      {"Multinomial", "4x10", "sample_size=7", "int32 4x7"},
      {"Bernoulli", "4x10:float64", "", "float64 4x10"},
      {"ImageDecoder@20", "n:uint8", "pixel_format=Grayscale",
       "uint8 ImageDecoder_1.heightxImageDecoder_2.widthx1"},
  }));
}

TEST(Fused, FollowsOnnxRuntime) {
  check(std::to_array<OneOperator>({
      {"com.microsoft:FusedConv@1", "1x3x8x8 4x3x3x3 4", "activation=Relu", "1x4x6x6"},
      {"com.microsoft:FusedMatMul@1", "2x3x4 5x4", "transB=1", "2x3x5"},
      {"com.microsoft:FusedMatMul@1", "7x2x3x4 2x3x4x5", "transBatchA=1", "2x3x7x5"},
      {"com.microsoft:BiasSplitGelu@1", "2x7x64 64", "", "2x7x32"},
      {"com.microsoft:SkipLayerNormalization@1", "2x7x16 2x7x16 16 16", "", "2x7x16; 2x7x1; 2x7x1; 2x7x16"},
      {"com.microsoft:SkipSimplifiedLayerNormalization@1", "7x16 7x16 16", "", "7x16; 7x1; 7x1; 7x16"},
      {"SimplifiedLayerNormalization", "2x7x16 16", "", "2x7x16; 2x7x1"},
      {"com.microsoft:EmbedLayerNormalization@1", "2x7:int32 - 100x16 50x16 - 16 16", "",
       "2x7x16; int32 2; 2x7x16"},
      {"com.microsoft:RemovePadding@1", "2x7x16 2:int32", "",
       "RemovePadding_1.tokens(<=14)x16; int32 2x7; int32 3; int32 1"},
      {"com.microsoft:RestorePadding@1", "tx16 2x7:int32", "", "2x7x16"},
      {"com.microsoft:Unique@1", "9", "", "Unique_1.values(<=9); int64 9; int64 Unique_1.values(<=9)"},
      {"com.microsoft:ExpandDims@1", "2x3 ==-1", "", "2x3x1"},
      {"com.microsoft:BitmaskDropout@1", "5x13", "", "5x13; uint32 3"},
      {"com.microsoft:UnfoldTensor@1", "2x10", "size=4 step=3", "2x3x4"},
      {"ai.onnx.preview.training:Adam@1", "scalar scalar 2x3 4 2x3 4 2x3 4 2x3 4", "",
       "2x3; 4; 2x3; 4; 2x3; 4"},
      {"ai.onnx.preview.training:Adam@1", "scalar scalar 2x3", "", "error: cannot be divided into 4 lists"},
      {"ai.onnx.ml:ArrayFeatureExtractor@1", "3x4 2:int64", "", "3x2"},
  }));
}

}  // namespace
}  // namespace plimsoll::network::testing
