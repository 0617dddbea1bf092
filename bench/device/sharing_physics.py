#!/usr/bin/env python3
"""What turns, changes between contexts, and blocks that wait come to on a GPU: docs/beside.md, docs/figures/sharing_physics_h200.txt.

usage: nvcc -O2 -arch=sm_90 -o sharing_physics sharing_physics.cu && sharing_physics.py ./sharing_physics
"""
import subprocess,time,json,os,sys,shutil
def now(): return time.clock_gettime(time.CLOCK_MONOTONIC)
def group(label,procs,seconds=0.6,env=[{}]*9,wait=1.4):
    b=now()+wait
    ps=[]
    for p,e in zip(procs,env):
        a=p.split(); cmd=[sys.argv[1],a[0],f'{b}',f'{seconds}']+a[1:]
        ps.append(subprocess.Popen(cmd,stdout=subprocess.PIPE,stderr=subprocess.PIPE,text=True,env={**os.environ,**ENV,**e}))
    out=[]
    for p in ps:
        o,er=p.communicate(timeout=60)
        out.append(json.loads(o) if o.strip() else {'error':er})
    short=[]
    for o in out:
        if 'gaps' in o:
            g=o['gaps']; runs=[g[i+1][0]-g[i][1] for i in range(len(g)-1)]; ga=[x[1]-x[0] for x in g]
            q=lambda v:(sorted(v)[len(v)//10],sorted(v)[len(v)//2],sorted(v)[len(v)*9//10]) if v else None
            short.append(f'runs {q(runs)} gaps {q(ga)} n {len(g)}')
        else: short.append(str(o.get('us_per_step',o)))
    print(label,'|',' | '.join(short),flush=True)
ENV={}
small='spin 174 66 256 0 4000 graph 0 %d'
big='spin 20 2112 1024 0 50000 graph 0 %d'   # 2 per SM: 8 waves of 50us = 400 us
mid='spin 100 264 1024 0 60000 graph 0 %d'   # one wave of 60 us
eager='spin 100 264 1024 0 20000 eager 20 -2'
group('watch',['watch'])
group('watch+watch',['watch','watch'])
group('watch+watch+watch',['watch','watch','watch'])
for n,p in (('small sync1',small%1),('small sync10',small%10),('small queued',small%-5),('big sync1',big%1),('big queued',big%-2),('mid queued',mid%-2),('eager',eager)):
    group('alone '+n,[p]); group('watch+'+n,['watch',p])
group('small q + big q',[small%-5,big%-2]); group('small s10 + big q',[small%10,big%-2]); group('small q + mid q',[small%-5,mid%-2]); group('small q+small q',[small%-5,small%-5]); group('big+mid',[big%-2,mid%-2]); group('eager+small q',[eager,small%-5]); group('eager+big',[eager,big%-2]);group('small s1 + big q',[small%1,big%-2])
# MPS
d='/tmp/mpsx'; os.makedirs(d+'/pipe',exist_ok=True); os.makedirs(d+'/log',exist_ok=True)
ENV={'CUDA_MPS_PIPE_DIRECTORY':d+'/pipe','CUDA_MPS_LOG_DIRECTORY':d+'/log'}
subprocess.run(['nvidia-cuda-mps-control','-d'],env={**os.environ,**ENV})
time.sleep(1)
try:
    tr='triad 20 %d 1024 0 67108864 graph 0 -2'
    for n,p in (('small',small%-5),('big',big%-2),('mid',mid%-2),('eager',eager),('triad264',tr%264),('triad64',tr%64),('triad16',tr%16)):
        group('mps alone '+n,[p])
    tiny='spin 174 16 256 0 4000 graph 0 -5'; onebig='spin 20 16 256 0 400000 graph 0 -2'
    group('mps alone tiny',[tiny]); group('mps tiny+onebig (no contention)',[tiny,onebig]); group('mps tiny+tiny',[tiny,tiny]); group('mps tiny x4',[tiny]*4)
    group('mps small+big',[small%-5,big%-2]); group('mps small+mid',[small%-5,mid%-2]); group('mps small+small',[small%-5,small%-5]); group('mps big+mid',[big%-2,mid%-2]); group('mps big+big',[big%-2,big%-2]); group('mps mid+mid',[mid%-2,mid%-2]); group('mps eager+big',[eager,big%-2]); group('mps eager+small',[eager,small%-5])
    group('mps tiny+triad64',[tiny,tr%64]); group('mps triad64+triad64',[tr%64,tr%64]); group('mps triad264+big',[tr%264,big%-2]);
    lat='triad 174 66 256 0 262144 graph 0 -5'
    group('mps alone l2small',[lat]); group('mps l2small+triad64',[lat,tr%64]); group('mps l2small+onebig',[lat,onebig])
    e=lambda p:{'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE':str(p)}
    group('mps cap50 big',[big%-2],env=[e(50)]); group('mps cap25 big',[big%-2],env=[e(25)]); group('mps cap25 small + cap75 big',[small%-5,big%-2],env=[e(25),e(75)]); group('mps cap50 triad264',[tr%264],env=[e(50)]); group('mps cap25 triad264',[tr%264],env=[e(25)]); group('mps cap10 triad264',[tr%264],env=[e(10)])
    group('mps 3: small+big+mid',[small%-5,big%-2,mid%-2])
finally:
    subprocess.run(['nvidia-cuda-mps-control'],input='quit\n',text=True,env={**os.environ,**ENV})
