// ---- Rows of a matrix of blocks, expanded -------------------------------------------------------

template <typename block, short parts, void (*read)(device const block *, short, thread float4x4 &)>
kernel void get_rows(device const void *weights, device const int *which, device float *out,
                     constant args_matrix &args, uint3 group [[threadgroup_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]],
                     uint3 size [[threads_per_threadgroup]])
{
    const int row = which[group.x];
    device const block *from =
        (device const block *)((device const char *)weights + row * args.row_bytes);
    device float4x4 *to = (device float4x4 *)(out + ulong(group.x) * args.inner);
    for (int i = t; i < args.inner / 16; i += size.x) {
        float4x4 sixteen;
        read(from + i / parts, i % parts, sixteen);
        to[i] = sixteen;
    }
}

template <typename T>
kernel void get_rows_plain(device const T *weights, device const int *which, device float *out,
                           constant args_matrix &args, uint3 group [[threadgroup_position_in_grid]],
                           uint t [[thread_index_in_threadgroup]],
                           uint3 size [[threads_per_threadgroup]])
{
    device const T *from = weights + ulong(which[group.x]) * args.inner;
    for (int i = t; i < args.inner; i += size.x)
        out[ulong(group.x) * args.inner + i] = from[i];
}

typedef decltype(get_rows<block_n4, 2, read_n4>) get_rows_type;
typedef decltype(get_rows_plain<float>) get_rows_f32_type;

#define GET_ROWS(name, parts)                                                                      \
    template [[host_name("get_rows_" #name)]] kernel decltype(                                     \
        get_rows<block_##name, parts, read_##name>) get_rows<block_##name, parts, read_##name>;
template [[host_name("get_rows_f32")]] kernel get_rows_f32_type get_rows_plain<float>;
template [[host_name("get_rows_f16")]] kernel decltype(get_rows_plain<half>) get_rows_plain<half>;
template [[host_name("get_rows_bf16")]] kernel decltype(get_rows_plain<bfloat>)
    get_rows_plain<bfloat>;
template [[host_name("get_rows_n4")]] kernel get_rows_type get_rows<block_n4, 2, read_n4>;
GET_ROWS(n4m, 2)
GET_ROWS(n5, 2)
GET_ROWS(n5m, 2)
GET_ROWS(b8, 2)
GET_ROWS(f4, 2)
GET_ROWS(k4, 16)
GET_ROWS(k6, 16)
GET_ROWS(k2, 16)
GET_ROWS(t3, 16)
#undef GET_ROWS

// ---- Matrix times vector ------------------------------------------------------------------------

// Several simdgroups, several rows each; a lane takes every 32nd part of sixteen numbers.
template <typename block, short parts, void (*read)(device const block *, short, thread float4x4 &),
          short rows, short simds>
void mul_vec_impl(constant args_matrix &args, device const char *weights, device const float *x,
                  device float *out, uint3 group, ushort lane, ushort simd)
{
    const int first = (group.x * simds + simd) * rows;
    const int column = group.y;
    device const float4 *vector = (device const float4 *)(x + ulong(column) * args.inner);
    device const block *row[rows];
    float sum[rows] = {0.f};
    UNROLLED for (short r = 0; r < rows; ++r)
    {
        const int at = edge_rows ? min(first + r, args.rows - 1) : first + r;
        row[r] = (device const block *)(weights + at * args.row_bytes);
    }
    for (int i = lane; i < args.inner / 16; i += SIMD_LANES) {
        float4 y[4];
        UNROLLED for (short k = 0; k < 4; ++k) y[k] = vector[4 * i + k];
        for (short r = 0; r < rows; ++r) {
            float4x4 w;
            read(row[r] + i / parts, i % parts, w);
            sum[r] += dot(w[0], y[0]) + dot(w[1], y[1]) + dot(w[2], y[2]) + dot(w[3], y[3]);
        }
    }
    for (short r = 0; r < rows; ++r) {
        const float total = simd_sum(sum[r]);
        if (lane == 0 && (!edge_rows || first + r < args.rows))
            out[ulong(column) * args.rows + first + r] = total;
    }
}

template <typename block, short parts, void (*read)(device const block *, short, thread float4x4 &),
          short rows, short simds>
[[kernel, max_total_threads_per_threadgroup(simds * SIMD_LANES)]] void
mul_vec(constant args_matrix &args [[buffer(0)]], device const char *weights [[buffer(1)]],
        device const char *x [[buffer(2)]], device char *out [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]],
        ushort simd [[simdgroup_index_in_threadgroup]])
{
    mul_vec_impl<block, parts, read, rows, simds>(args, weights, (device const float *)x,
                                                  (device float *)out, group, lane, simd);
}

#define MUL_VEC(name, type, parts, rows)                                                           \
    template [[host_name("mul_vec_" #name)]] kernel decltype(                                      \
        mul_vec<type, parts, read_##name, rows, 2>) mul_vec<type, parts, read_##name, rows, 2>;
MUL_VEC(f32, float4x4, 1, 2)
MUL_VEC(f16, half4x4, 1, 2)
MUL_VEC(bf16, bfloat4x4, 1, 2)
MUL_VEC(n4m, block_n4m, 2, 4)
MUL_VEC(n5, block_n5, 2, 4)
MUL_VEC(n5m, block_n5m, 2, 4)
MUL_VEC(b8, block_b8, 2, 4)
MUL_VEC(f4, block_f4, 2, 2)
MUL_VEC(k4, block_k4, 16, 2)
MUL_VEC(k6, block_k6, 16, 2)
MUL_VEC(k2, block_k2, 16, 2)
MUL_VEC(t3, block_t3, 16, 1)
#undef MUL_VEC

// The product of half a block and sixteen numbers that were scaled so that nibbles need no shifts.
static inline float dot_n4(device const block_n4 *block, float total, thread const float *y,
                           short half_at)
{
    device const ushort *pairs = (device const ushort *)block + 1 + half_at / 2;
    float4 parts = 0.f;
    for (short i = 0; i < 8; i += 2) {
        parts[0] += y[i + 0] * (pairs[i / 2] & 0x000F);
        parts[1] += y[i + 1] * (pairs[i / 2] & 0x0F00);
        parts[2] += y[i + 8] * (pairs[i / 2] & 0x00F0);
        parts[3] += y[i + 9] * (pairs[i / 2] & 0xF000);
    }
    return float(block->d) * (total * -8.f + parts[0] + parts[1] + parts[2] + parts[3]);
}

template <short rows, short simds>
kernel void mul_vec_n4(constant args_matrix &args, device const char *weights,
                       device const float *x, device float *out,
                       uint3 group [[threadgroup_position_in_grid]],
                       ushort lane [[thread_index_in_simdgroup]],
                       ushort simd [[simdgroup_index_in_threadgroup]])
{
    const int first = (group.x * simds + simd) * rows;
    const int blocks = args.inner / SMALL;
    device const float *vector = x + ulong(group.y) * args.inner;
    float sum[rows] = {};
    const short half_at = 8 * (lane & 1);
    for (int b = lane / 2; b < blocks; b += 16) {
        device const float *from = vector + b * SMALL + half_at;
        float y[16], total = 0;
        for (short i = 0; i < 8; i += 2) {
            total += from[i] + from[i + 1] + from[i + 16] + from[i + 17];
            y[i + 0] = from[i + 0];
            y[i + 1] = from[i + 1] / 256.f;
            y[i + 8] = from[i + 16] / 16.f;
            y[i + 9] = from[i + 17] / 4096.f;
        }
        for (short r = 0; r < rows; r++) {
            const int at = min(first + r, args.rows - 1);
            device const block_n4 *row = (device const block_n4 *)(weights + at * args.row_bytes);
            sum[r] += dot_n4(row + b, total, y, half_at);
        }
    }
    for (short r = 0; r < rows; ++r) {
        sum[r] = simd_sum(sum[r]);
        if (lane == 0 && first + r < args.rows)
            out[ulong(group.y) * args.rows + first + r] = sum[r];
    }
}
template [[host_name("mul_vec_n4")]] kernel decltype(mul_vec_n4<4, 2>) mul_vec_n4<4, 2>;

// One long row per group: all simdgroups share it, the sums meet in threadgroup memory.
template <typename T, typename T4>
kernel void mul_vec_wide(constant args_matrix &args, device const char *weights,
                         device const float *x, device float *out,
                         threadgroup float *shared [[threadgroup(0)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         ushort t [[thread_index_in_threadgroup]],
                         ushort lane [[thread_index_in_simdgroup]],
                         ushort simd [[simdgroup_index_in_threadgroup]],
                         ushort simds [[simdgroups_per_threadgroup]])
{
    device const T4 *row = (device const T4 *)(weights + group.x * args.row_bytes);
    device const float4 *vector = (device const float4 *)(x + ulong(group.y) * args.inner);
    float sum = 0;
    for (int i = t; i < args.inner / 4; i += simds * SIMD_LANES)
        sum += dot(float4(row[i]), vector[i]);
    sum = simd_sum(sum);
    if (simd == 0)
        shared[lane] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0)
        shared[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
        sum = simd_sum(shared[lane]);
        if (lane == 0)
            out[ulong(group.y) * args.rows + group.x] = sum;
    }
}
template [[host_name("mul_vec_wide_f32")]] kernel decltype(mul_vec_wide<float, float4>)
    mul_vec_wide<float, float4>;
template [[host_name("mul_vec_wide_f16")]] kernel decltype(mul_vec_wide<float, float4>)
    mul_vec_wide<half, half4>;
template [[host_name("mul_vec_wide_bf16")]] kernel decltype(mul_vec_wide<float, float4>)
    mul_vec_wide<bfloat, bfloat4>;

// ---- Matrix times matrix ------------------------------------------------------------------------

#define TILE_ROWS 64    // rows of the weights
#define TILE_COLUMNS 32 // columns of the other matrix
#define TILE_INNER 32

// 64 rows of weights in `T`, blocked by 8x8 tiles: what one load of a simdgroup needs is in a row.
template <typename T, typename T4x4, typename block, short parts,
          void (*read)(device const block *, short, thread T4x4 &)>
static void load_weights(threadgroup T *to, device const char *weights, ulong row_bytes, int rows,
                         int first, int at, ushort t)
{
    const short r = t / 2, piece = t % 2;
    const int row = min(first + r, rows - 1);
    device const block *from = (device const block *)(weights + row * row_bytes);
    const int part = at / 16 + piece;
    T4x4 sixteen;
    read(from + part / parts, part % parts, sixteen);
    UNROLLED for (short i = 0; i < 16; i++)
    {
        const short k = 16 * piece + i;
        to[64 * ((r / 8) * (TILE_INNER / 8) + k / 8) + 8 * (r % 8) + k % 8] =
            sixteen[i / 4][i % 4];
    }
}

template <typename T, typename T4x4, typename M8x8, typename block, short parts,
          void (*read)(device const block *, short, thread T4x4 &)>
[[kernel, max_total_threads_per_threadgroup(128)]] void
mul_mat(constant args_matrix &args [[buffer(0)]], device const char *weights [[buffer(1)]],
        device const float *x [[buffer(2)]], device float *out [[buffer(3)]],
        threadgroup char *memory [[threadgroup(0)]], uint3 group [[threadgroup_position_in_grid]],
        ushort t [[thread_index_in_threadgroup]], ushort simd [[simdgroup_index_in_threadgroup]])
{
    threadgroup T *left = (threadgroup T *)memory;
    threadgroup T *right = (threadgroup T *)(memory + sizeof(T) * TILE_ROWS * TILE_INNER);
    const int first_row = group.y * TILE_ROWS, first_column = group.x * TILE_COLUMNS;
    M8x8 a[4];
    M8x8 b[2];
    simdgroup_float8x8 sums[8];
    for (short i = 0; i < 8; i++)
        sums[i] = make_filled_simdgroup_matrix<float, 8>(0.f);

    for (int at = 0; at < args.inner; at += TILE_INNER) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        load_weights<T, T4x4, block, parts, read>(left, weights, args.row_bytes, args.rows,
                                                  first_row, at, t);
        const short c = t / 4, k = 8 * (t % 4);
        const int column = first_column + c;
        device const float *y = x + ulong(min(column, args.columns - 1)) * args.inner + at + k;
        UNROLLED for (short i = 0; i < 8; i++)
            right[64 * ((c / 8) * (TILE_INNER / 8) + k / 8) + 8 * i + c % 8] =
                column < args.columns ? T(y[i]) : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);

        threadgroup const T *lp = left + 64 * (TILE_INNER / 8) * 4 * (simd % 2);
        threadgroup const T *rp = right + 64 * (TILE_INNER / 8) * 2 * (simd / 2);
        UNROLLED for (short k8 = 0; k8 < TILE_INNER / 8; k8++)
        {
            simdgroup_barrier(mem_flags::mem_none);
            UNROLLED for (short i = 0; i < 4; i++)
                simdgroup_load(a[i], lp + 64 * ((TILE_INNER / 8) * i + k8), 8);
            UNROLLED for (short i = 0; i < 2; i++)
                simdgroup_load(b[i], rp + 64 * ((TILE_INNER / 8) * i + k8), 8);
            simdgroup_barrier(mem_flags::mem_none);
            UNROLLED for (short i = 0; i < 8; i++)
                simdgroup_multiply_accumulate(sums[i], a[i % 4], b[i / 4], sums[i]);
        }
    }

    // Through threadgroup memory, for the edges.
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup float *tile =
        (threadgroup float *)memory + 32 * (simd % 2) + 16 * (simd / 2) * TILE_ROWS;
    for (short i = 0; i < 8; i++)
        simdgroup_store(sums[i], tile + 8 * (i % 4) + 8 * TILE_ROWS * (i / 4), TILE_ROWS, 0, true);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup const float *all = (threadgroup const float *)memory;
    for (short i = t; i < TILE_ROWS * TILE_COLUMNS; i += 128) {
        const int row = first_row + i % TILE_ROWS, column = first_column + i / TILE_ROWS;
        if (row < args.rows && column < args.columns)
            out[ulong(column) * args.rows + row] = all[i];
    }
}

#define MUL_MAT(name, T, M, block, parts)                                                          \
    template [[host_name("mul_mat_" #name)]] kernel decltype(                                      \
        mul_mat<T, M, simdgroup_matrix<T, 8, 8>, block, parts, read_##name>)                       \
        mul_mat<T, M, simdgroup_matrix<T, 8, 8>, block, parts, read_##name>;
MUL_MAT(f32, float, float4x4, float4x4, 1)
MUL_MAT(f16, half, half4x4, half4x4, 1)
MUL_MAT(bf16, bfloat, bfloat4x4, bfloat4x4, 1)
MUL_MAT(n4, half, half4x4, block_n4, 2)
MUL_MAT(n4m, half, half4x4, block_n4m, 2)
MUL_MAT(n5, half, half4x4, block_n5, 2)
MUL_MAT(n5m, half, half4x4, block_n5m, 2)
MUL_MAT(b8, half, half4x4, block_b8, 2)
MUL_MAT(f4, float, float4x4, block_f4, 2)
MUL_MAT(k4, half, half4x4, block_k4, 16)
MUL_MAT(k6, half, half4x4, block_k6, 16)
MUL_MAT(k2, half, half4x4, block_k2, 16)
MUL_MAT(t3, half, half4x4, block_t3, 16)
#undef MUL_MAT

// ---- Experts: each column has a list of matrices ------------------------------------------------

template <typename block, short parts, void (*read)(device const block *, short, thread float4x4 &)>
kernel void mul_vec_expert(constant args_matrix &args, device const char *weights,
                           device const float *x, device float *out, device const int *experts,
                           uint3 group [[threadgroup_position_in_grid]],
                           ushort lane [[thread_index_in_simdgroup]],
                           ushort simd [[simdgroup_index_in_threadgroup]])
{
    const int expert = experts[group.y];
    device const char *own = weights + ulong(expert) * args.batch_rows * args.row_bytes;
    mul_vec_impl<block, parts, read, 2, 2>(args, own, x, out, group, lane, simd);
}
template [[host_name("mul_vec_expert_n4m")]] kernel decltype(mul_vec_expert<block_n4m, 2, read_n4m>)
    mul_vec_expert<block_n4m, 2, read_n4m>;
template [[host_name("mul_vec_expert_b8")]] kernel decltype(mul_vec_expert<block_b8, 2, read_b8>)
    mul_vec_expert<block_b8, 2, read_b8>;

// ---- Numbers to blocks and back -----------------------------------------------------------------

template <typename block, short length, void (*write)(device const float *, device block &)>
kernel void quantize(device const float *from, device block *to, constant args_rows &args,
                     uint i [[thread_position_in_grid]])
{
    if (int(i) < args.count / length)
        write(from + i * length, to[i]);
}
#define QUANTIZE(name)                                                                             \
    template [[host_name("quantize_" #name)]] kernel decltype(                                     \
        quantize<block_##name, SMALL, write_##name>) quantize<block_##name, SMALL, write_##name>;
QUANTIZE(n4)
QUANTIZE(n4m)
QUANTIZE(n5)
QUANTIZE(b8)
#undef QUANTIZE

// Any four dimensions with any strides.
template <typename From, typename To>
kernel void copy(constant args_copy &args, device const char *from, device char *to,
                 uint3 group [[threadgroup_position_in_grid]],
                 ushort3 t [[thread_position_in_threadgroup]],
                 ushort3 size [[threads_per_threadgroup]])
{
    const int i3 = group.z, i2 = group.y, i1 = group.x;
    for (int i0 = t.x; i0 < args.ne[0]; i0 += size.x) {
        device const From *source = (device const From *)(from + i3 * args.from[3] +
                                                          i2 * args.from[2] + i1 * args.from[1] +
                                                          i0 * args.from[0]);
        device To *target = (device To *)(to + i3 * args.to[3] + i2 * args.to[2] +
                                          i1 * args.to[1] + i0 * args.to[0]);
        *target = To(*source);
    }
}
#define COPY(from, From, to, To)                                                                   \
    template [[host_name("copy_" #from "_" #to)]] kernel decltype(copy<From, To>) copy<From, To>;
COPY(f32, float, f32, float)
COPY(f32, float, f16, half)
COPY(f32, float, bf16, bfloat)
COPY(f32, float, i32, int)
COPY(f16, half, f32, float)
COPY(f16, half, bf16, bfloat)
COPY(bf16, bfloat, f32, float)
COPY(bf16, bfloat, f16, half)
COPY(i32, int, f32, float)
#undef COPY
